package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// The marks of a block in a file of Markdown. The first one has a hash of what stands between them,
// so that a block that somebody has edited is seen.
const (
	blockBegin = "<!-- pws:begin v1 "
	blockEnd   = "<!-- pws:end -->"
)

// marked are the places of the texts between two marks, with the line of the first mark and the
// end of the line of the second. A first mark that has another one before the next second mark
// begins nothing: its end was lost, and what follows it is the user's.
func marked(file []byte, begin, end string) (places [][2]int) {
	for from := 0; ; {
		at := bytes.Index(file[from:], []byte(end))
		if at < 0 {
			return places
		}
		before := file[from : from+at]
		next := from + at + len(end)
		for _, ends := range []string{"\r\n", "\n"} {
			if bytes.HasPrefix(file[next:], []byte(ends)) {
				next += len(ends)
				break
			}
		}
		first := bytes.LastIndex(before, []byte(begin))
		if first >= 0 && bytes.IndexByte(before[first:], '\n') >= 0 {
			places = append(places, [2]int{from + first, next})
		}
		from = next
	}
}

// block is a text between its marks.
func block(text string) string {
	hash := sha256.Sum256([]byte(text))
	const digits = 6
	return fmt.Sprintf("%s%s -->\n%s%s\n", blockBegin, hex.EncodeToString(hash[:digits]), text,
		blockEnd)
}

// withEmptyLine is a text with an empty line at its end, which ends as the last line does.
func withEmptyLine(text []byte) []byte {
	end, out := "\n", bytes.Clone(text)
	if at := bytes.LastIndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		end = "\r\n"
	}
	if !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, end...)
	}
	return append(out, end...)
}

// withoutEmptyLine is a text without the empty line at its end, if there is one.
func withoutEmptyLine(text []byte) []byte {
	out, ok := bytes.CutSuffix(text, []byte("\n"))
	if out = bytes.TrimSuffix(out, []byte("\r")); ok && bytes.HasSuffix(out, []byte("\n")) {
		return out
	}
	return text
}

// putBlock puts a block at the end of a file, or in the place of one that is there.
func putBlock(file []byte, text string) []byte {
	wanted := block(text)
	places := marked(file, blockBegin, blockEnd)
	if len(places) == 0 {
		if len(bytes.TrimSpace(file)) == 0 {
			return []byte(wanted)
		}
		return append(withEmptyLine(file), wanted...)
	}
	out := bytes.Clone(file)
	for nth := len(places) - 1; nth >= 0; nth-- {
		with := ""
		if nth == 0 {
			with = wanted
		}
		out = append(append(bytes.Clone(out[:places[nth][0]]), with...), out[places[nth][1]:]...)
	}
	return out
}

// removeBlock removes the block, and the empty line before it.
func removeBlock(file []byte) []byte {
	places := marked(file, blockBegin, blockEnd)
	out := bytes.Clone(file)
	for nth := len(places) - 1; nth >= 0; nth-- {
		before := withoutEmptyLine(out[:places[nth][0]])
		out = append(bytes.Clone(before), out[places[nth][1]:]...)
	}
	return out
}

// tomlServer is the table of an MCP server in a file of TOML, between marks.
const tomlServer = tomlBegin + ", written by pws setup\n" +
	"[mcp_servers." + ServerName + "]\ncommand = \"" + program + "\"\nargs = [\"mcp\"]\n" +
	tomlEnd + "\n"

// The marks in a file of TOML.
const (
	tomlBegin = "# pws:begin"
	tomlEnd   = "# pws:end"
)

// removeMarked removes the marked table, and the empty line before it.
func removeMarked(file []byte) (out []byte) {
	from := 0
	for _, place := range marked(file, tomlBegin, tomlEnd) {
		out = append(out, withoutEmptyLine(file[from:place[0]])...)
		from = place[1]
	}
	return append(out, file[from:]...)
}

// putTable puts the table of the server into a file of TOML: text is added at the end, and what was
// there of the server goes.
func putTable(file []byte) ([]byte, error) {
	if has, err := hasTable(file); err != nil || has {
		return file, err
	}
	without, err := removeTable(file)
	if err != nil {
		return nil, err
	}
	if inlineServers.Match(without) {
		return nil, errors.New("mcp_servers is one value: nothing can be added to it but by hand")
	}
	out := []byte(tomlServer)
	if len(bytes.TrimSpace(without)) > 0 {
		out = append(withEmptyLine(without), tomlServer...)
	}
	_, err = tables(out)
	return out, err
}

// hasTable reports whether a file of TOML has the server as it should be.
func hasTable(file []byte) (bool, error) {
	all, err := tables(file)
	if err != nil {
		return false, err
	}
	servers, _ := all["mcp_servers"].(map[string]any)
	server, _ := servers[ServerName].(map[string]any)
	return server["command"] == program &&
		reflect.DeepEqual(server["args"], []any{"mcp"}) && server["enabled"] != false, nil
}

func tables(file []byte) (all map[string]any, err error) {
	_, err = toml.Decode(string(file), &all)
	return all, err
}

// inlineServers is the table of the servers as one value, which no later table can extend.
var inlineServers = regexp.MustCompile(`(?m)^\s*mcp_servers\s*=`)

// tableHeader begins a table of TOML.
var tableHeader = regexp.MustCompile(`^\s*\[`)

// serverHeader begins the table of the server, or a table below it.
var serverHeader = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\.\s*"?` + ServerName + `"?\s*[\].]`)

// removeTable removes the table of the server: the marked block, or what another program has
// written. All else means the same as before.
func removeTable(file []byte) ([]byte, error) {
	before, err := tables(file)
	if err != nil {
		return nil, err
	}
	out := removeMarked(file)
	var kept []string
	inside := false
	for _, line := range strings.SplitAfter(string(out), "\n") {
		if tableHeader.MatchString(line) {
			inside = serverHeader.MatchString(line)
		}
		if !inside {
			kept = append(kept, line)
		}
	}
	out = []byte(strings.Join(kept, ""))
	after, err := tables(out)
	if err != nil {
		return nil, err
	}
	if servers, ok := before["mcp_servers"].(map[string]any); ok {
		delete(servers, ServerName)
		if len(servers) == 0 {
			delete(before, "mcp_servers")
		}
	}
	if servers, ok := after["mcp_servers"].(map[string]any); ok && len(servers) == 0 {
		delete(after, "mcp_servers")
	}
	if !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("the server %s has a form that cannot be removed: edit the file",
			ServerName)
	}
	return out, nil
}
