"""Memory at addresses: how compiled code reaches numbers of worlds that lie in no handle, as those of a batch do."""


def entries_at(field, address):
    """The numbers at an address, one after another: of the type that a field has, as one world sees it.

    Compiled code alone: plain Python has no addresses.
    """
    raise RuntimeError(f"memory at {address} is for compiled code alone")
