package web

import (
	"embed"
	"path"
	"strings"

	"pws/api"
	"pws/internal/fault"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that pages load. Its address has its hash.
type asset struct {
	path, hash, contentType string
	body                    []byte
}

// contentTypes are those of the assets by extension. Package mime would read the types of the
// system, which differ from one to the next.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func readAssets() map[string]asset {
	assets := map[string]asset{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		body, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			panic(err)
		}
		contentType, known := contentTypes[path.Ext(name)]
		if !known {
			panic("web: the content type of " + name + " is not known")
		}
		hash := strings.Trim(api.TagOf(body), `"`)
		assets[name] = asset{
			path: at("assets", hash, name), hash: hash, body: body,
			contentType: contentType,
		}
	}
	return assets
}

func (w *Web) assetOperations() []*api.Operation {
	return []*api.Operation{api.Declare[api.None, api.WebPage](api.Operation{
		Name: "page.asset", Method: "GET", Path: at("assets") + "/{hash}/{name}",
		Auth: api.Anonymous, Category: api.CategoryRead, Statuses: []int{200}, Page: true,
		Params: params("{hash}/{name}"),
	}, func(c *api.Call, _ *api.None) (api.Reply, error) {
		found, exists := w.assets[c.Param("name")]
		if !exists || found.hash != c.Param("hash") {
			return api.Reply{}, fault.New(fault.RouteNotFound, "There is no such file.")
		}
		return api.Reply{Data: api.WebPage{
			Body: found.body, ContentType: found.contentType, Lasting: true,
		}}, nil
	})}
}
