package web

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"testing"
)

func nodes(count int) (all []node) {
	for i := range count {
		all = append(all, node{Kind: "import", Name: fmt.Sprint("node ", i)})
	}
	return all
}

// TestGraphsAreClear places every number of nodes: none overlaps another or leaves the drawing, no
// line crosses a node, and the same nodes are always placed the same.
func TestGraphsAreClear(t *testing.T) {
	numbers := regexp.MustCompile(`\d+`)
	for above := range graphEach + 3 {
		for below := range graphEach + 3 {
			g := newGraph(node{Name: "project"}, nodes(above), nodes(below))
			again := newGraph(node{Name: "project"}, nodes(above), nodes(below))
			if !reflect.DeepEqual(g, again) {
				t.Fatalf("%d, %d: two drawings", above, below)
			}
			drawn := min(above, graphEach) + 1 + min(below, graphEach)
			if len(g.Nodes) != drawn || len(g.Lines) != drawn-1 ||
				g.Left != above+below+1-drawn {
				t.Fatalf("%d, %d: %d nodes, %d lines, %d left", above, below, len(g.Nodes),
					len(g.Lines), g.Left)
			}
			for i, one := range g.Nodes {
				if one.X < 0 || one.Y < 0 || one.X+one.Width > g.Width ||
					one.Y+one.Height > g.Height {
					t.Fatalf("%d, %d: %+v leaves %d × %d", above, below, one, g.Width, g.Height)
				}
				for _, other := range g.Nodes[i+1:] {
					if one.X < other.X+other.Width && other.X < one.X+one.Width &&
						one.Y < other.Y+other.Height && other.Y < one.Y+one.Height {
						t.Fatalf("%d, %d: %+v is over %+v", above, below, one, other)
					}
				}
			}
			for i, line := range g.Lines {
				var place []int
				for _, text := range numbers.FindAllString(line, -1) {
					number, _ := strconv.Atoi(text)
					place = append(place, number)
				}
				if len(place) != 4 {
					t.Fatalf("line %s", line)
				}
				checkLine(t, &g, i, place)
			}
		}
	}
}

// checkLine checks a line of two parts: beside the middle, and in it.
func checkLine(t *testing.T, g *graph, at int, place []int) {
	project := 0
	for g.Nodes[project].Name != "project" {
		project++
	}
	// M x y H middle V end, or M middle start V y H x.
	x, y, middle, end := place[0], place[1], place[2], place[3]
	of := at
	if at >= project {
		x, y, middle, end = place[3], place[2], place[0], place[1]
		of++
	}
	if middle != g.Width/2 || y != g.Nodes[of].center() || x != g.Nodes[of].side() {
		t.Fatalf("line %d %v does not meet %+v", at, place, g.Nodes[of])
	}
	for other, one := range g.Nodes {
		inMiddle := one.X < middle && middle < one.X+one.Width &&
			one.Y < max(y, end) && min(y, end) < one.Y+one.Height
		beside := other != of && one.Y < y && y < one.Y+one.Height &&
			one.X < max(x, middle) && min(x, middle) < one.X+one.Width
		if inMiddle || beside {
			t.Fatalf("line %d %v crosses %+v", at, place, one)
		}
	}
}
