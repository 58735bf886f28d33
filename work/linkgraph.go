package work

// linkGraph finds the tasks of a project that lead back to themselves through one kind of link. All
// questions of one request together visit each task and each link at most once, because they share
// the result: the strongly connected components of the part that was visited (Tarjan, "Depth-First
// Search and Linear Graph Algorithms", 1972). Tasks are named by their positions in the project.
// For the tasks of a bundle see walker.
type linkGraph struct {
	// links returns the tasks that a task links to; nowhere is none of them.
	links func(task uint32) []uint32
	// visits numbers the visited tasks from 1. lowest is the least number that a task reaches
	// within its component, and complete once the component is known.
	visits, lowest []uint32
	visited        uint32
	// open holds the visited tasks whose component is not known yet, path those of the current way.
	open []uint32
	path []linkStep
	// followed counts the links that were followed.
	followed int
}

// nowhere is the position of a task that the project does not have.
const nowhere = ^uint32(0)

// complete is the visit number of a task whose component is known.
const complete = ^uint32(0)

type linkStep struct {
	task uint32
	rest []uint32
}

func newLinkGraph(tasks int, links func(task uint32) []uint32) *linkGraph {
	numbers := make([]uint32, 2*tasks)
	return &linkGraph{links: links, visits: numbers[:tasks], lowest: numbers[tasks:]}
}

// inRing reports whether a task leads back to itself through one of its links.
func (g *linkGraph) inRing(task, link uint32) bool {
	if link == nowhere {
		return false
	}
	if g.visits[task] == 0 {
		g.visit(task)
	}
	// The links of a task are visited with it, so both components are known.
	return g.lowest[task] == g.lowest[link]
}

// visit finds the components of all tasks that a task reaches. A component is named by the visit
// number of the task through which it was entered.
func (g *linkGraph) visit(from uint32) {
	g.enter(from)
	for len(g.path) > 0 {
		here := &g.path[len(g.path)-1]
		if len(here.rest) == 0 {
			g.leave(here.task)
			continue
		}
		next := here.rest[0]
		here.rest = here.rest[1:]
		g.followed++
		switch {
		case next == nowhere:
		case g.visits[next] == 0:
			g.enter(next)
		case g.visits[next] != complete:
			g.lowest[here.task] = min(g.lowest[here.task], g.visits[next])
		}
	}
}

func (g *linkGraph) enter(task uint32) {
	g.visited++
	g.visits[task], g.lowest[task] = g.visited, g.visited
	g.open = append(g.open, task)
	g.path = append(g.path, linkStep{task, g.links(task)})
}

// leave ends the visit of a task, and its component if it was entered through this task.
func (g *linkGraph) leave(task uint32) {
	g.path = g.path[:len(g.path)-1]
	lowest := g.lowest[task]
	if lowest == g.visits[task] {
		for {
			last := g.open[len(g.open)-1]
			g.open = g.open[:len(g.open)-1]
			g.visits[last], g.lowest[last] = complete, lowest
			if last == task {
				break
			}
		}
	}
	if len(g.path) > 0 {
		above := g.path[len(g.path)-1].task
		g.lowest[above] = min(g.lowest[above], lowest)
	}
}
