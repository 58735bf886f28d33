package checkout

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// A repository may be that of somebody else, with settings of its own. git runs programs that
// settings name, so each command has settings of its own in front of them.

// gitVariables are those by which a hook of git, or a command in one, is bound to a repository, as
// git rev-parse --local-env-vars has them.
var gitVariables = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
	"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
	"GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR",
}

// safeSettings take the place of settings that name programs. An embedded bare repository, which
// comes with the files of another one, is none for these commands.
var safeSettings = []string{
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false",
	"safe.bareRepository=explicit",
}

// GitCommand is a git command in a directory. It takes no optional locks, runs no programs that the
// settings of the repository name, and finds the repository by the directory alone.
func GitCommand(ctx context.Context, program, dir string, args ...string) *exec.Cmd {
	command := gitCommand(ctx, program, dir, args...)
	set := 0
	for name := range repositoryFilters(ctx, program, dir) {
		for _, setting := range []string{".clean=", ".smudge=", ".process=", ".required=false"} {
			key, value, _ := strings.Cut(setting, "=")
			command.Env = append(command.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s%s", set, name, key),
				fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", set, value))
			set++
		}
	}
	command.Env = append(command.Env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", set))
	return command
}

// repositoryFilters are the names of the filters that the settings of the repository have. Those of
// the user are left alone.
func repositoryFilters(ctx context.Context, program, dir string) map[string]bool {
	list := []string{"config", "--includes", "--name-only", "-z", "--list"}
	names := map[string]bool{}
	add := func(name string) {
		if strings.HasPrefix(strings.ToLower(name), "filter.") {
			names[name[:strings.LastIndexByte(name, '.')]] = true
		}
	}
	out, err := gitCommand(ctx, program, dir, append(list, "--show-scope")...).Output()
	if err == nil {
		words := strings.Split(string(out), "\x00")
		for i := 0; i+1 < len(words); i += 2 {
			if scope := words[i]; scope == "local" || scope == "worktree" {
				add(words[i+1])
			}
		}
		return names
	}
	// A git before 2.26 does not show scopes.
	for _, scope := range []string{"--local", "--worktree"} {
		out, err := gitCommand(ctx, program, dir, append(list, scope)...).Output()
		if err != nil {
			continue
		}
		for name := range strings.SplitSeq(string(out), "\x00") {
			add(name)
		}
	}
	return names
}

func gitCommand(ctx context.Context, program, dir string, args ...string) *exec.Cmd {
	given := []string{"--no-optional-locks"}
	for _, setting := range safeSettings {
		given = append(given, "-c", setting)
	}
	command := exec.CommandContext(ctx, program, append(given, args...)...)
	command.Dir = dir
	command.Env = slices.DeleteFunc(command.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.Contains(gitVariables, name)
	})
	command.Env = append(command.Env, "GIT_NO_LAZY_FETCH=1")
	return command
}
