package api_test

import (
	"fmt"
	"strings"
)

// sameForm returns a bundle without its IDs and its importing agent: IDs are replaced by numbers,
// and imported records by what their origins say.
func sameForm(t failer, data []byte, full bool) any {
	t.Helper()
	bundle := object(t, data)["bundle"].(map[string]any)
	names := map[string]string{}
	project := bundle["project"].(map[string]any)
	names[project["id"].(string)] = "project"
	for section, list := range bundle {
		records, _ := list.([]any)
		for nth, one := range records {
			record, _ := one.(map[string]any)
			name := fmt.Sprint(section, nth)
			nameOf(names, name, record)
			for _, part := range []string{"revisions", "reviews"} {
				parts, _ := record[part].([]any)
				for i, one := range parts {
					nameOf(names, fmt.Sprint(name, part, i), one.(map[string]any))
				}
			}
		}
	}
	for _, name := range []string{
		"id", "owner", "head_changeset_id", "version", "created_at", "updated_at", "visibility",
		"reuse_policy", "viewer",
	} {
		delete(project, name)
	}
	delete(project["counts"].(map[string]any), "members")
	// A claimed task is not open, and claims are not imported.
	delete(project["counts"].(map[string]any), "open_tasks")
	for _, derived := range []string{
		"exported_at", "manifest", "provenance", "integrity", "agents",
	} {
		delete(bundle, derived)
	}
	if !full {
		for _, name := range []string{
			"history", "handoffs", "latest_handoff", "tasks", "contributions", "imports",
			"artifacts", "verification",
		} {
			delete(bundle, name)
		}
		delete(project["counts"].(map[string]any), "changesets")
		delete(project["counts"].(map[string]any), "contributions_pending")
		// Languages with equal counts are in the order of their first files.
		delete(project, "languages")
	}
	return renamed(bundle, names, full)
}

func nameOf(names map[string]string, name string, record map[string]any) {
	if id, named := record["id"].(string); named {
		names[id] = name
	}
}

// renamed returns a value with numbers instead of IDs.
func renamed(value any, names map[string]string, full bool) any {
	switch value := value.(type) {
	case string:
		if name, known := names[value]; known {
			return name
		}
	case []any:
		for i := range value {
			value[i] = renamed(value[i], names, full)
		}
	case map[string]any:
		if _, credit := value["accepted_by"]; credit {
			if origin, ok := value["origin"].(map[string]any); ok {
				value = origin
			}
			// The other members name records of the project that was exported first.
			return []any{value["author"], value["reviewers"], value["accepted_by"]}
		}
		_, byID := value["created_by"]
		useStateOrigin(value)
		if origin, ok := value["origin"].(map[string]any); ok {
			value["created_at"], value["author"] = origin["created_at"], origin["author"]
			if kind, ok := origin["source_type"]; ok {
				value["source"] = map[string]any{"type": kind}
			}
			value["created_by"] = origin["author"].(map[string]any)["agent_id"]
		}
		if source, ok := value["source"].(map[string]any); ok {
			delete(source, "id")
		}
		useOrigin(value)
		// A verification record in short form has no origin. It has the time of the import.
		for _, name := range []string{"latest", "latest_failed"} {
			brief, _ := value[name].(map[string]any)
			delete(brief, "created_at")
			if !full {
				delete(brief, "id")
			}
		}
		if _, revision := value["number"]; revision || byID {
			delete(value, "author")
		}
		if _, task := value["attempt_count"]; task {
			if value["status"] != "BLOCKED" {
				// This is derived from its dependencies, and has their IDs.
				delete(value, "blocked")
			}
		} else {
			delete(value, "created_by")
		}
		for _, name := range []string{
			"origin", "origins", "omitted", "updated_at", "updated_by", "work_session_id",
		} {
			delete(value, name)
		}
		for name := range value {
			if !full && strings.HasSuffix(name, "changeset_id") ||
				!full && name == "entity_id" {
				delete(value, name)
				continue
			}
			value[name] = renamed(value[name], names, full)
		}
	}
	return value
}

// useStateOrigin replaces the writer of an earlier version of the state by that of its origin.
func useStateOrigin(value map[string]any) {
	_, state := value["current_focus"]
	origin, listed := value["origin"]
	if !state || !listed {
		return
	}
	value["writer"] = []any{value["updated_by"], value["updated_at"]}
	if origin, ok := origin.(map[string]any); ok {
		author := origin["author"].(map[string]any)
		value["writer"] = []any{author["agent_id"], origin["created_at"]}
	}
	delete(value, "origin")
}

// useOrigin replaces members of an import or a contribution by those of its origin, and removes
// members that are about the project.
func useOrigin(value map[string]any) {
	if _, artifact := value["import_count"]; artifact {
		// They are derived from the history, which the bundle may not have.
		delete(value, "authors")
		delete(value, "bundle_authors")
	}
	if own, imported := value["bundle_authors"].([]any); imported {
		value["authors"] = append(value["authors"].([]any), own...)
		// These are about the source of the project that was exported first.
		for _, name := range []string{
			"bundle_authors", "artifact_id", "source_project_id", "source_changeset_id",
		} {
			delete(value, name)
		}
	}
	if _, contribution := value["revisions"]; contribution {
		if origin, ok := value["origin"].(map[string]any); ok {
			value["attribution"], value["decided_at"] = origin["attribution"], origin["decided_at"]
			value["decided_by"] = nil
			if decider, ok := origin["decided_by"].(map[string]any); ok {
				value["decided_by"] = decider["agent_id"]
			}
		}
		for _, name := range []string{"workspace_id", "conflicts"} {
			delete(value, name)
		}
	}
}
