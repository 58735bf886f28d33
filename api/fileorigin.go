package api

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// FileOrigin is a project that files came from, and the license under which it offered them.
type FileOrigin struct {
	// The project; null if the caller may not read it now, or if the bundle does not say. Members of
	// the project that was made of the bundle are shown what it says.
	ProjectID *string `json:"project_id" check:"id=prj_"`
	// The license under which it offered the files; NOASSERTION if unknown.
	LicenseSPDX string `json:"license_spdx"`
	// Whether this is known from a bundle only. It is then not verified.
	FromBundle bool `json:"from_bundle"`
}

// Omitted counts what exceeded the limits and was not stored.
type Omitted struct {
	// Authors after the first 100; an author found several times is counted several times.
	Authors int `json:"authors"`
	// Contributions after the first 100.
	Contributions int `json:"contributions"`
	// Origins after the first 50.
	Origins int `json:"origins"`
	// Files of which only the newest versions were examined.
	Histories int `json:"histories"`
}

func omitted(from work.Omitted) Omitted {
	return Omitted{
		Authors: from.Authors, Contributions: from.Credits, Origins: from.Origins,
		Histories: from.Histories,
	}
}

// fileOrigins returns the wire form. It keeps the license even if the caller may not read the
// project.
func (c *Call) fileOrigins(list []work.FileOrigin) []FileOrigin {
	records := make([]FileOrigin, len(list))
	readable := c.readables()
	for i, from := range list {
		records[i] = FileOrigin{LicenseSPDX: from.License, FromBundle: from.FromBundle}
		shown := from.Project
		if from.FromBundle {
			shown = from.Bundled
		}
		if readable.shows(from.Project) &&
			(readable.shows(shown) || from.FromBundle && c.memberOf(from.Project)) {
			records[i].ProjectID = idOrNil(id.Project, shown)
		}
	}
	return records
}

// originsMax is the maximum number of origins of a record: the stored ones and its own.
const originsMax = work.OriginsMax + 1

// readOrigins reads the origins of files from a bundle. The rules add the project of the import.
func (i *importer) readOrigins(list []FileOrigin, field string) (made []work.FileOrigin) {
	if len(list) > originsMax {
		i.fault(field, fmt.Sprintf("must have at most %d items", originsMax))
		return nil
	}
	for j := range list {
		name := fmt.Sprintf("%s[%d]", field, j)
		license, err := canonicalLicense(list[j].LicenseSPDX)
		if err != nil {
			i.fault(name+".license_spdx", noLicense)
		}
		made = append(made, work.FileOrigin{
			License: license, FromBundle: true,
			Bundled: i.idOrZero(id.Project, list[j].ProjectID, name+".project_id"),
		})
	}
	return made
}

// omittedMax limits each count of omitted items in a bundle.
const omittedMax = 1 << 31

// readOmitted reads the counts of what exceeded the limits where the bundle was made.
func (i *importer) readOmitted(from *Omitted, field string) work.Omitted {
	for _, one := range []struct {
		name  string
		count int
	}{
		{"authors", from.Authors}, {"contributions", from.Contributions},
		{"origins", from.Origins}, {"histories", from.Histories},
	} {
		if one.count < 0 || one.count > omittedMax {
			i.fault(field+"."+one.name, fmt.Sprintf("must be from 0 to %d", omittedMax))
		}
	}
	return work.Omitted{
		Authors: from.Authors, Credits: from.Contributions, Origins: from.Origins,
		Histories: from.Histories,
	}
}
