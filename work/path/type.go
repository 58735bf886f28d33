package path

import "strings"

// kind holds the content type and language that follow from a file's name.
type kind struct {
	mediaType string
	language  string
}

const plain = "text/plain"

// kindOfExtension holds the recognized extensions with their content types, and other common
// extensions that only determine a language: their files are stored as text/plain.
var kindOfExtension = map[string]kind{
	"php": {"text/x-php", "php"}, "py": {"text/x-python", "python"},
	"js":  {"application/javascript", "javascript"},
	"mjs": {"application/javascript", "javascript"},
	"cjs": {"application/javascript", "javascript"},
	"ts":  {"text/x-typescript", "typescript"}, "tsx": {"text/x-typescript", "typescript"},
	"java": {"text/x-java", "java"}, "go": {"text/x-go", "go"}, "rs": {"text/x-rust", "rust"},
	"c": {"text/x-c", "c"}, "h": {"text/x-c", "c"},
	"cpp": {"text/x-c++", "c++"}, "cc": {"text/x-c++", "c++"},
	"cxx": {"text/x-c++", "c++"}, "hpp": {"text/x-c++", "c++"},
	"cs": {"text/x-csharp", "c#"}, "rb": {"text/x-ruby", "ruby"},
	"sh": {"text/x-shellscript", "shell"}, "bash": {"text/x-shellscript", "shell"},
	"zsh": {"text/x-shellscript", "shell"}, "sql": {"application/sql", "sql"},
	"html": {"text/html", "html"}, "htm": {"text/html", "html"}, "css": {"text/css", "css"},
	"md": {"text/markdown", "markdown"}, "markdown": {"text/markdown", "markdown"},
	"json": {"application/json", "json"}, "xml": {"application/xml", "xml"},
	"yaml": {"application/yaml", "yaml"}, "yml": {"application/yaml", "yaml"},
	"csv": {"text/csv", "csv"}, "toml": {"application/toml", "toml"}, "txt": {plain, "text"},

	"jsx": {plain, "javascript"}, "mts": {plain, "typescript"}, "cts": {plain, "typescript"},
	"pyi": {plain, "python"}, "hh": {plain, "c++"}, "hxx": {plain, "c++"},
	"kt": {plain, "kotlin"}, "kts": {plain, "kotlin"}, "swift": {plain, "swift"},
	"scala": {plain, "scala"}, "clj": {plain, "clojure"}, "cljs": {plain, "clojure"},
	"ex": {plain, "elixir"}, "exs": {plain, "elixir"}, "erl": {plain, "erlang"},
	"hs": {plain, "haskell"}, "ml": {plain, "ocaml"}, "mli": {plain, "ocaml"},
	"fs": {plain, "f#"}, "lua": {plain, "lua"}, "pl": {plain, "perl"}, "pm": {plain, "perl"},
	"r": {plain, "r"}, "jl": {plain, "julia"}, "dart": {plain, "dart"}, "zig": {plain, "zig"},
	"nim": {plain, "nim"}, "proto": {plain, "protobuf"}, "graphql": {plain, "graphql"},
	"tf": {plain, "hcl"}, "hcl": {plain, "hcl"}, "vue": {plain, "vue"},
	"svelte": {plain, "svelte"}, "scss": {plain, "scss"}, "sass": {plain, "sass"},
	"less": {plain, "less"}, "tex": {plain, "tex"}, "rst": {plain, "restructuredtext"},
	"adoc": {plain, "asciidoc"}, "ini": {plain, "ini"}, "cmake": {plain, "cmake"},
	"mk": {plain, "makefile"}, "dockerfile": {plain, "dockerfile"}, "nix": {plain, "nix"},
	"ps1": {plain, "powershell"}, "bat": {plain, "batch"}, "fish": {plain, "shell"},
	"groovy": {plain, "groovy"}, "gradle": {plain, "groovy"}, "sol": {plain, "solidity"},
}

// languageOfName holds files that are recognized by their whole name, in lower case.
var languageOfName = map[string]string{
	"makefile": "makefile", "gnumakefile": "makefile", "dockerfile": "dockerfile",
	"containerfile": "dockerfile", "cmakelists.txt": "cmake", "gemfile": "ruby",
	"rakefile": "ruby", "vagrantfile": "ruby", "jenkinsfile": "groovy",
	"go.mod": "go", "go.sum": "go", "go.work": "go", "cargo.lock": "toml", "pipfile": "toml",
	".bashrc": "shell", ".bash_profile": "shell", ".profile": "shell", ".zshrc": "shell",
	".editorconfig": "ini", "build.bazel": "starlark", "justfile": "just",
}

// TypeOf returns the content type of a file that was written without one: by the recognized
// extensions, in any case, else text/plain.
func TypeOf(p string) string {
	if k, ok := kindOfExtension[extension(baseName(p))]; ok {
		return k.mediaType
	}
	return plain
}

// LanguageOf returns the lower-case name of the language of a file, such as "go", "python",
// "typescript" or "markdown"; empty if unknown. It looks up the whole name first, then the
// extension, then the part before the first dot ("Dockerfile.test").
func LanguageOf(p string) string {
	base := strings.ToLower(baseName(p))
	if language, ok := languageOfName[base]; ok {
		return language
	}
	if k, ok := kindOfExtension[extension(base)]; ok {
		return k.language
	}
	stem, _, _ := strings.Cut(base, ".")
	return languageOfName[stem]
}

// languages holds the names that LanguageOf can return.
var languages = func() map[string]bool {
	names := map[string]bool{}
	for _, k := range kindOfExtension {
		names[k.language] = true
	}
	for _, language := range languageOfName {
		names[language] = true
	}
	return names
}()

// IsLanguage reports whether a word is one of the names that LanguageOf can return.
func IsLanguage(word string) bool { return languages[word] }

func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// extension returns the part after the last dot of a base name, in lower case. A leading dot
// marks a hidden file and starts no extension.
func extension(base string) string {
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 {
		return ""
	}
	return strings.ToLower(base[dot+1:])
}
