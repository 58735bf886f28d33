package bench

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"

	"pws/bench/client"
)

// httpExchange sends prepared requests and reads HTTP responses.
type httpExchange struct {
	request func() []byte
}

func (h httpExchange) next() []byte { return h.request() }

func (h httpExchange) complete(have []byte) (bool, string, error) {
	response, whole, err := parseHTTP(have)
	if err != nil || !whole {
		return false, "", err
	}
	return true, client.Outcome(response), nil
}

// parseHTTP parses a response, and returns an error if the server closes the connection after it.
func parseHTTP(have []byte) (client.Response, bool, error) {
	response, whole, err := client.Parse(have)
	if err == nil && whole && response.Close {
		err = errors.New("the server closes the connection: " + client.Outcome(response))
	}
	return response, whole && err == nil, err
}

// idBytes is the length of an ID: a prefix of four and 26 characters.
const idBytes = 30

// findID returns the ID after the first occurrence of a text such as "task_id":" with the quotes.
// Decoding a whole response would cost the generator more than it costs the server.
func findID(body []byte, before string) (string, bool) {
	at := bytes.Index(body, []byte(before))
	if at < 0 || len(body) < at+len(before)+idBytes {
		return "", false
	}
	return string(body[at+len(before):][:idBytes]), true
}

// clients connects n clients, each with its own exchange.
func clients(address string, n int, newExchange func(at int) exchange) connect {
	return func() (fleet, error) {
		exchanges := make([]exchange, n)
		for i := range exchanges {
			exchanges[i] = newExchange(i)
		}
		return dialAll(address, exchanges)
	}
}

// httpClients connects n clients, each with its own requests.
func httpClients(address string, n int, requests func(at int) func() []byte) connect {
	return clients(address, n, func(at int) exchange { return httpExchange{requests(at)} })
}

// contentBytes is the size of a content in all write runs, for all servers.
const contentBytes = 300

// filler generates contents with six random bits in each byte, so that they compress little.
type filler struct {
	dice *rand.PCG
	text []byte
}

func newFiller(seed int, size int) *filler {
	return &filler{dice: rand.NewPCG(uint64(seed), 0x9e3779b97f4a7c15), text: make([]byte, size)}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// next returns a new content, valid until the next call.
func (f *filler) next() []byte {
	for i := 0; i < len(f.text); {
		bits := f.dice.Uint64()
		for range min(10, len(f.text)-i) {
			f.text[i] = alphabet[bits&63]
			bits >>= 6
			i++
		}
	}
	return f.text
}

// writer sends PUT requests, each with a new content.
type writer struct {
	host       string
	credential string
	// paths are written in turn.
	paths  []string
	filler *filler
	turn   int
	// left is the number of remaining requests of nextOfMany.
	left int
	// kept receives each write that is sent; it may be nil.
	kept *acknowledged
	body []byte
	out  []byte
}

// nextOfMany is next for a bounded number of requests.
func (w *writer) nextOfMany() []byte {
	if w.left == 0 {
		return nil
	}
	w.left--
	return w.next()
}

func (w *writer) next() []byte {
	return w.put(w.path())
}

// path is where the next request writes to.
func (w *writer) path() string {
	path := w.paths[w.turn%len(w.paths)]
	w.turn++
	return path
}

// put is a request that writes a new content to a path.
func (w *writer) put(path string) []byte {
	content := w.filler.next()
	if w.kept != nil {
		w.kept.sent(path, content)
	}
	w.body = append(append(append(w.body[:0], `{"content":"`...), content...), `"}`...)
	request := client.Request{
		Method: "PUT", Path: path, Host: w.host, Credential: w.credential, Body: w.body,
	}
	w.out = request.Append(w.out[:0])
	return w.out
}

// filesPerWriter is the number of files that one writer writes in turn in each project.
const filesPerWriter = 8

// writerPaths distributes the files of the projects over writers, project by project, so that a
// writer returns to a project as late as possible.
func writerPaths(projects []string, writer, writers int) []string {
	var mine []string
	for i := writer % len(projects); i < len(projects); i += writers {
		mine = append(mine, projects[i])
	}
	var paths []string
	for file := range filesPerWriter {
		for _, project := range mine {
			paths = append(paths, filePath(project, fmt.Sprintf("src/w%d/file-%d.txt", writer, file)))
		}
	}
	return paths
}

// projectPath is the request path of a project.
func projectPath(project string) string { return "/api/v1/projects/" + project }

// filePath is the request path of a file.
func filePath(project, path string) string {
	return projectPath(project) + "/files/" + client.EscapePath(path)
}
