package api

import (
	"strings"

	"pws/api/sizelimit"
)

// The limits of an outline.
const (
	outlineLinesMax = 40
	outlineCharsMax = 120
	// outlineIndentMax is the maximum indentation of a line: one level in any style.
	outlineIndentMax = 4
)

// declarations holds, for each language, the beginnings of lines that readers look for first.
// Lines are compared without their indentation.
var declarations = map[string][]string{
	"markdown": {"#"},
	"go":       {"package ", "func ", "type ", "module "},
	"python":   {"class ", "def ", "async def "},
	"javascript": {
		"export ", "function ", "async function ", "class ", "module.exports",
	},
	"typescript": {
		"export ", "function ", "async function ", "class ", "abstract class ", "interface ",
		"type ", "enum ", "namespace ", "declare ",
	},
	"rust": {
		"pub ", "pub(", "fn ", "async fn ", "unsafe fn ", "struct ", "enum ", "trait ", "impl ",
		"impl<", "mod ", "macro_rules!",
	},
	"java": {
		"package ", "public ", "protected ", "private ", "class ", "interface ", "enum ", "record ",
		"abstract ", "final class ",
	},
	"c#": {
		"namespace ", "public ", "protected ", "private ", "internal ", "class ", "interface ",
		"enum ", "struct ", "record ",
	},
	"c": {"struct ", "typedef ", "enum ", "union ", "static ", "int ", "void ", "#define "},
	"c++": {
		"namespace ", "class ", "struct ", "enum ", "union ", "template", "typedef ", "using ",
		"void ", "int ", "#define ",
	},
	"ruby": {"module ", "class ", "def "},
	"php": {
		"namespace ", "class ", "abstract class ", "final class ", "interface ", "trait ", "enum ",
		"function ", "public ", "protected ", "private ",
	},
	"shell":  {"function "},
	"sql":    {"CREATE ", "ALTER ", "create ", "alter "},
	"toml":   {"["},
	"ini":    {"["},
	"html":   {"<title", "<h1", "<h2", "<h3", "<main", "<section", "<form", "<script"},
	"kotlin": {"package ", "class ", "data class ", "interface ", "object ", "fun ", "enum "},
	"swift":  {"class ", "struct ", "enum ", "protocol ", "extension ", "func ", "public "},
	"scala":  {"package ", "class ", "case class ", "object ", "trait ", "def "},
	"elixir": {"defmodule ", "def ", "defp ", "defmacro "},
	"lua":    {"function ", "local function "},
	"dart":   {"class ", "abstract class ", "enum ", "extension ", "mixin ", "void "},
	"zig":    {"pub ", "fn ", "const "},
	"protobuf": {
		"syntax ", "package ", "message ", "service ", "rpc ", "enum ",
	},
	"graphql": {
		"type ", "input ", "interface ", "enum ", "union ", "scalar ", "query ", "mutation ",
		"extend ",
	},
	"hcl":        {"resource ", "module ", "variable ", "output ", "data ", "provider "},
	"dockerfile": {"FROM ", "ENTRYPOINT ", "CMD "},
}

// outlineOf returns the declaration lines of a text, and whether there are more. For an unknown
// language it returns none.
func outlineOf(language string, content []byte) (lines []string, more bool) {
	lines = []string{}
	for line := range strings.Lines(textOf(content)) {
		line = strings.TrimRight(line, "\r\n\t ")
		body := strings.TrimLeft(line, " \t")
		if len(line)-len(body) > outlineIndentMax || !declares(language, body, len(line)-len(body)) {
			continue
		}
		if len(lines) == outlineLinesMax {
			return lines, true
		}
		lines = append(lines, sizelimit.Shorten(line, outlineCharsMax))
	}
	return lines, false
}

// declares reports whether a line, given without its indentation, is a declaration.
func declares(language, body string, indent int) bool {
	for _, beginning := range declarations[language] {
		if strings.HasPrefix(body, beginning) {
			return true
		}
	}
	switch language {
	case "shell":
		name, _, found := strings.Cut(body, "()")
		return found && name != "" && !strings.ContainsAny(name, " \t$\"'`=#")
	case "yaml", "makefile":
		name, _, found := strings.Cut(body, ":")
		return found && indent == 0 && name != "" && !strings.ContainsAny(name, " \t#\"'={")
	}
	return false
}
