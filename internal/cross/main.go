// Command cross checks the types of the program, its tests and everything that they import as the
// systems see them that are named as arguments. It generates no code, and so takes a tenth of what
// building for them does.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, system := range os.Args[1:] {
		faults, err := check(system)
		if err != nil {
			faults = append(faults, err.Error())
		}
		for _, fault := range faults {
			fmt.Fprintf(os.Stderr, "%s: %s\n", system, fault)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check loads all packages of the module for a system from their sources.
func check(system string) (faults []string, err error) {
	for name, value := range map[string]string{"GOOS": system, "CGO_ENABLED": "0"} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	roots, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Tests: true}, "./...")
	if err != nil {
		return nil, err
	}
	count := 0
	packages.Visit(roots, nil, func(p *packages.Package) {
		count++
		for _, one := range p.Errors {
			faults = append(faults, one.Error())
		}
	})
	const least = 200
	if count < least {
		faults = append(faults, fmt.Sprintf("only %d packages were found", count))
	}
	return faults, nil
}
