package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// watchProjects creates N projects of the caller and makes the caller watch them.
//
//	watch-projects N
func (s *script) watchProjects(_ *testscript.TestScript, args []string) error {
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for range count {
		err := s.post("projects", map[string]string{"name": "many", "visibility": "PRIVATE"})
		if err != nil {
			return err
		}
		project, _ := s.last.at("data.project.id")
		watch := s.target("projects/" + textOf(project) + "/watch")
		if err := s.expect(&request{method: "PUT", target: watch}, 200, ""); err != nil {
			return err
		}
	}
	return nil
}
