package main

import (
	"pws/actors"
	"pws/cluster"
)

// groupMetrics are the metrics of a member of a group. What a member lacks is the difference of the
// positions of two members.
func groupMetrics(group *cluster.Membership) []actors.Metric {
	flag := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	return []actors.Metric{
		{Name: "pws_cluster_leads", Help: "1 while this member leads its group, else 0.",
			Value: func() float64 { return flag(group.Leads()) }},
		{Name: "pws_cluster_leader_known", Help: "1 while this member knows a leader, else 0.",
			Value: func() float64 { return flag(group.Leader() != 0) }},
		{Name: "pws_cluster_term", Help: "Term of the group: each election begins one.",
			Value: func() float64 { return float64(group.Status().Term) }},
		{Name: "pws_cluster_position", Help: "Newest entry that this member has.",
			Value: func() float64 { return float64(group.Status().Position) }},
		{Name: "pws_cluster_members", Help: "Members of the group, those that learn included.",
			Value: func() float64 { return float64(len(group.Status().Members)) }},
		{Name: "pws_cluster_format", Help: "Format of the log that the group has agreed on.",
			Value: func() float64 { return float64(group.Status().Format) }},
		{Name: "pws_cluster_clock_ahead_seconds",
			Help:  "How far the clock is ahead of that of most members; negative is behind.",
			Value: func() float64 { return group.ClockAhead().Seconds() }},
	}
}
