"""Control: stable PD, the controller of `kt.StablePD`."""
