package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// revise submits a workspace N times, each time with one more file.
//
//	revise WORKSPACE N
func (s *script) revise(_ *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: revise WORKSPACE N")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	workspace := s.target("workspaces/" + args[0])
	for i := range count {
		err := s.expect(&request{
			method: "PUT", target: fmt.Sprintf("%s/files/revised/%d.txt", workspace, i),
			body: []byte(`{"content":"revised"}`),
		}, 200, "")
		if err != nil {
			return err
		}
		err = s.expect(&request{
			method: "POST", target: workspace + "/submit", body: []byte(`{"summary":"one more"}`),
		}, 201, "")
		if err != nil {
			return err
		}
	}
	return nil
}
