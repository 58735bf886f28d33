package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"gopkg.in/yaml.v3"
)

// settings resolves the flags of serve that are not on the command line: from the environment, else
// from the file of --config, which has the same names.
type settings struct {
	// fault is the error in the file. The parser would report it as an error of some flag.
	fault error
}

// configFlag is the file of settings; only the default one may be missing.
const (
	configFlag    = "config"
	configDefault = "pws.yaml"
)

// environmentName is the environment variable of a flag: PWS_RATE_LIMITS for --rate-limits.
func environmentName(flag string) string {
	return "PWS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate implements kong.Resolver.
func (*settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (s *settings) Resolve(ctx *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if parent.Node() == nil || parent.Node().Name != "serve" || flag.Name == "help" {
		return nil, nil
	}
	if value, set := os.LookupEnv(environmentName(flag.Name)); set {
		return value, nil
	}
	if flag.Name == configFlag {
		return nil, nil
	}
	file, err := readSettings(ctx, parent.Node())
	if err != nil {
		s.fault = err
		return nil, nil
	}
	value, set := file[flag.Name]
	if !set {
		return nil, nil
	}
	return settingText(value), nil
}

// settingText is the value as it would be on the command line. YAML decodes on and off as booleans;
// here they are words.
func settingText(value any) any {
	switch v := value.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = fmt.Sprint(settingText(part))
		}
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}

// readSettings reads the file that --config names and refuses names that serve does not have.
func readSettings(ctx *kong.Context, serve *kong.Node) (map[string]any, error) {
	name, given := configDefault, false
	if value, set := os.LookupEnv(environmentName(configFlag)); set {
		name, given = value, true
	}
	known := []string{}
	for _, flag := range serve.Flags {
		known = append(known, flag.Name)
		if flag.Name == configFlag && ctx.FlagValue(flag) != "" {
			if value, ok := ctx.FlagValue(flag).(string); ok {
				name, given = value, true
			}
		}
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	file := map[string]any{}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for key, value := range file {
		if !slices.Contains(known, key) || key == configFlag {
			return nil, fmt.Errorf("%s: unknown setting %q", name, key)
		}
		if err := checkSetting(value); err != nil {
			return nil, fmt.Errorf("%s: setting %q %w", name, key, err)
		}
	}
	return file, nil
}

var (
	errNoValue = errors.New("has no value")
	errNested  = errors.New("is neither a value nor a list of them")
)

// checkSetting refuses what has no text on the command line: nothing, and names with values.
func checkSetting(value any) error {
	switch v := value.(type) {
	case nil:
		return errNoValue
	case map[string]any, map[any]any:
		return errNested
	case []any:
		for _, part := range v {
			if _, ok := part.([]any); ok {
				return errNested
			}
			if err := checkSetting(part); err != nil {
				return err
			}
		}
	}
	return nil
}
