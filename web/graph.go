package web

import "fmt"

// The measures of a graph, in the units of its drawing. It is narrow, so that its words can be read
// on a phone.
const (
	graphWidth  = 400
	graphMargin = 2
	nodeWidth   = 184
	nodeHeight  = 44
	nodeGap     = 12
	// graphEach is the most nodes above the project, and below it.
	graphEach = 12
)

// node is a part of a graph: what it is to the project, and its name.
type node struct {
	Kind, Name string
	// Link is empty if the node has no page.
	Link string
	// Note is what the list says besides.
	Note string
	// project is the other project that Link leads to, empty for none.
	project string

	X, Y, Width, Height int
}

// graph is the drawing of what a project comes from, which is above it, and of what comes from it.
type graph struct {
	Width, Height int
	// Nodes are those above the project, the project, and those below.
	Nodes []node
	// Lines are the paths between them; each ends where its arrow is.
	Lines []string
	// Left counts the nodes that are not drawn.
	Left int
}

// newGraph places the nodes in rows of two. A line leads from each to the gap in the middle, and
// there to the project; so no line crosses a node.
func newGraph(project node, above, below []node) graph {
	g := graph{Width: graphWidth}
	g.Left = max(0, len(above)-graphEach) + max(0, len(below)-graphEach)
	above, below = above[:min(len(above), graphEach)], below[:min(len(below), graphEach)]
	y := g.rows(above, graphMargin)
	project.X, project.Y = graphMargin, y
	project.Width, project.Height = graphWidth-2*graphMargin, nodeHeight
	g.Nodes = append(g.Nodes, project)
	middle, foot := graphWidth/2, y+nodeHeight
	for _, from := range g.Nodes[:len(above)] {
		g.Lines = append(g.Lines, fmt.Sprintf("M%d %dH%dV%d", from.side(), from.center(), middle, y))
	}
	y = g.rows(below, foot+nodeGap+nodeGap) - 2*nodeGap
	for _, to := range g.Nodes[len(above)+1:] {
		g.Lines = append(g.Lines,
			fmt.Sprintf("M%d %dV%dH%d", middle, foot, to.center(), to.side()))
	}
	g.Height = y + graphMargin
	if len(below) == 0 {
		g.Height = foot + graphMargin
	}
	return g
}

// rows adds nodes from a height on, and returns the height for what follows.
func (g *graph) rows(nodes []node, y int) int {
	for i, one := range nodes {
		one.Width, one.Height = nodeWidth, nodeHeight
		one.X, one.Y = graphMargin, y+i/2*(nodeHeight+nodeGap)
		if i%2 == 1 {
			one.X = graphWidth - graphMargin - nodeWidth
		}
		g.Nodes = append(g.Nodes, one)
	}
	if len(nodes) == 0 {
		return y
	}
	return y + (len(nodes)+1)/2*(nodeHeight+nodeGap) + nodeGap
}

// side is where a line meets the node: at its edge beside the middle.
func (n *node) side() int {
	if n.X < graphWidth/2 {
		return n.X + n.Width
	}
	return n.X
}

func (n *node) center() int { return n.Y + n.Height/2 }
