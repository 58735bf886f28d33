package render

import (
	"embed"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/dlclark/regexp2/v2"
)

// The lexers are those of chroma v2.27.0, whose own package reads all 280 of them whenever the
// program starts; go.xml and the names of some files are ours. Each is read when it is first used.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// matchTime limits a single match of an expression: some of them take exponential time. The clock
// that checks it ticks every clockTime.
const (
	matchTime = 10 * time.Millisecond
	clockTime = 5 * time.Millisecond
)

func init() { regexp2.SetTimeoutCheckPeriod(clockTime) }

// languages maps ends of file names to files of lexers.
var languages = map[string]string{
	".go": "go", ".mod": "go", ".py": "python", ".pyi": "python", ".js": "javascript",
	".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript", ".ts": "typescript",
	".tsx": "typescript", ".mts": "typescript", ".rs": "rust", ".c": "c", ".h": "c", ".cc": "cpp",
	".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".java": "java", ".cs": "csharp", ".rb": "ruby",
	".sh": "bash", ".bash": "bash", ".zsh": "bash", ".sql": "sql", ".html": "html", ".htm": "html",
	".css": "css", ".json": "json", ".jsonl": "json", ".yaml": "yaml", ".yml": "yaml",
	".toml": "toml", ".mk": "makefile", ".kt": "kotlin", ".kts": "kotlin", ".swift": "swift",
	".diff": "diff", ".patch": "diff", ".ini": "ini", ".cfg": "ini", ".conf": "ini", ".lua": "lua",
	".xml": "xml", ".svg": "xml", ".proto": "protobuf", ".tf": "hcl", ".hcl": "hcl",
	"dockerfile": "docker", "makefile": "makefile", "gemfile": "ruby", "rakefile": "ruby",
}

// languageOf returns the name of a lexer by the path of a file, empty if there is none.
func languageOf(file string) string {
	name := strings.ToLower(path.Base(file))
	if end := path.Ext(name); end != "" {
		return languages[end]
	}
	return languages[name]
}

// lexers are those that were used, each read once. Those that others use are read with them.
var lexers = struct {
	sync.Mutex
	known    map[string]*chroma.RegexLexer
	registry *chroma.LexerRegistry
}{known: map[string]*chroma.RegexLexer{}, registry: chroma.NewLexerRegistry()}

// inOthers are the languages in files of a language.
var inOthers = map[string][]string{"html": {"javascript", "css"}}

func lexerOf(language string) (*chroma.RegexLexer, error) {
	lexers.Lock()
	defer lexers.Unlock()
	for _, name := range append(inOthers[language], language) {
		if lexers.known[name] != nil {
			continue
		}
		made, err := readLexer(name)
		if err != nil {
			return nil, err
		}
		lexers.known[name] = made
		lexers.registry.Register(made)
	}
	return lexers.known[language], nil
}

// readLexer reads a lexer and limits the time of its expressions.
func readLexer(name string) (*chroma.RegexLexer, error) {
	read, err := chroma.NewXMLLexer(lexerFiles, "lexers/"+name+".xml")
	if err != nil {
		return nil, err
	}
	rules, err := read.Rules()
	if err != nil {
		return nil, err
	}
	rules = rules.Clone()
	rules[limitState] = []chroma.Rule{{Mutator: limiter{}}}
	made, err := chroma.NewLexer(read.Config(), func() chroma.Rules { return rules })
	if err != nil {
		return nil, err
	}
	_, err = made.Rules()
	return made, err
}

// limitState is a state that no text gets into. Its only rule changes the others when the lexer is
// compiled, which is the one time when chroma shows its expressions.
const limitState = "pws-limit"

type limiter struct{}

// Mutate implements chroma.Mutator.
func (limiter) Mutate(*chroma.LexerState) error { return nil }

// MutateLexer implements chroma.LexerMutator.
func (limiter) MutateLexer(rules chroma.CompiledRules, _ string, _ int) error {
	delete(rules, limitState)
	for _, state := range rules {
		for _, rule := range state {
			rule.Regexp.MatchTimeout = matchTime
		}
	}
	return nil
}
