package web

import (
	"errors"
	"html/template"

	"pws/api"
	"pws/internal/fault"
)

// readmeNames are the files that introduce a project; the first one that it has is shown.
var readmeNames = []string{"README.md", "readme.md", "Readme.md", "README", "README.txt"}

// readmeRoom is the most bytes of a README on the first page of a project.
const readmeRoom = 14 << 10

// readme is the file that introduces a project. Its path is empty if the project has none.
type readme struct {
	Path string
	HTML template.HTML
	// Cut says that only its beginning is here.
	Cut bool
}

// newReadme is a README with as much of its text as has room.
func newReadme(path string, text template.HTML) readme {
	parts := piecesOf(string(text), readmeRoom)
	return readme{path, template.HTML(parts[0]), len(parts) > 1}
}

func (v *visit) readme(head api.Project) (readme, error) {
	if head.Counts.Files == 0 {
		return readme{}, nil
	}
	for _, name := range readmeNames {
		found, err := read[api.FileData](v, "file.read", []string{head.ID, name})
		var refusal *fault.Error
		if errors.As(err, &refusal) && refusal.Code == fault.FileNotFound {
			continue
		}
		if errors.As(err, &refusal) && refusal.Code == fault.ContentRemoved {
			return readme{}, nil
		}
		if err != nil {
			return readme{}, err
		}
		text := plain(deref(found.File.Content))
		if isMarkdown(name) {
			if made := v.rendered(head.ID, name, text, "", 3); made.OK {
				return newReadme(name, made.HTML), nil
			}
		}
		return newReadme(name, asWritten(text)), nil
	}
	return readme{}, nil
}
