package work

import "reflect"

// CoordinationOf returns a copy of the records beside the files, to which a later change of the
// state is compared.
func CoordinationOf(p *Project) any { return *p.coordination }

// HasCoordination reports whether the records beside the files are as they were.
func HasCoordination(p *Project, as any) bool { return reflect.DeepEqual(*p.coordination, as) }
