"""Meshes as convex shapes: the vertex farthest along a direction.

MuJoCo: mjc_meshSupport, mjc_hillclimbSupport. The search branches on values, so lanes search one world at a time.
"""

from ..kernel import kernel
from ..math.vec3 import dot, get3

FEW = 10  # vertices of a mesh below which all are tried
STEEP = 0.4  # component of a direction above which its sign chooses the vertex to start from
COLD = -1  # no vertex to start from is known


@kernel(scalar=True)
def vertex(m, mesh, v):
    """Vertex v of a mesh, in the frame of the mesh, from single to double precision."""
    x, y, z = get3(m.mesh_vert, m.mesh_vertadr[mesh] + v)
    return 1.0 * x, 1.0 * y, 1.0 * z


@kernel(scalar=True)
def third(x):
    """Which third of the grid of directions a component falls into: 0, 1 or 2."""
    return 2 if x > STEEP else (0 if x < -STEEP else 1)


@kernel(scalar=True)
def has_graph(m, mesh):
    """Whether the hull of a mesh is worth climbing; small meshes and those without a hull are searched through."""
    return m.mesh_graphadr[mesh] >= 0 and m.mesh_vertnum[mesh] >= FEW


@kernel(scalar=True)
def number_in_mesh(m, mesh, place):
    """The vertex of the mesh that stands at a place of the list in which a search goes on: of its hull, or of all."""
    graph = m.mesh_graphadr[mesh]
    return m.mesh_graph[graph + 2 + m.mesh_graph[graph] + place] if has_graph(m, mesh) else place


@kernel(scalar=True)
def farthest_of_all(m, mesh, direction, start):
    """The vertex farthest along a direction, found by trying all of them; the start wins ties."""
    best = start if start >= 0 else 0
    farthest = dot(vertex(m, mesh, best), direction)
    for v in range(m.mesh_vertnum[mesh]):
        x = dot(vertex(m, mesh, v), direction)
        if x > farthest:
            best, farthest = v, x
    return best


@kernel(scalar=True)
def farthest_uphill(m, mesh, direction, start):
    """The same, found by climbing from vertex to neighbour on the convex hull; returns a place in its list of vertices.

    The hull is a list of integers: the number of its vertices, that of its faces, for each vertex the place of its first
    neighbour, then its number in the mesh; then the neighbours of all vertices, each list ended by -1.
    """
    graph = m.mesh_graphadr[mesh]
    count = m.mesh_graph[graph]
    first, number, neighbours = graph + 2, graph + 2 + count, graph + 2 + 2 * count
    best = m.mesh_extrema[mesh, 9 * third(direction[0]) + 3 * third(direction[1]) + third(direction[2])]
    farthest = dot(vertex(m, mesh, m.mesh_graph[number + best]), direction)
    if start >= 0:
        x = dot(vertex(m, mesh, m.mesh_graph[number + start]), direction)
        if x >= farthest:
            best, farthest = start, x
    before = -1
    while before != best:
        before = best
        at = neighbours + m.mesh_graph[first + best]
        while m.mesh_graph[at] >= 0:
            x = dot(vertex(m, mesh, m.mesh_graph[number + m.mesh_graph[at]]), direction)
            if x > farthest:
                best, farthest = m.mesh_graph[at], x
            at += 1
    return best


@kernel(scalar=True)
def farthest_place(m, mesh, direction, start):
    """Where the vertex farthest along a direction in the mesh's frame stands: see `number_in_mesh`. start: a place, or COLD."""
    if has_graph(m, mesh):
        return farthest_uphill(m, mesh, direction, start)
    return farthest_of_all(m, mesh, direction, start)
