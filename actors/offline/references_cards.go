package offline

import (
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// checkSavedCard compares a saved project with its card.
func (r *references) checkSavedCard(name string, p *work.Project) {
	if !r.cards {
		// The next save writes it anew.
		return
	}
	card, _, _, err := r.saved.Read(datadir.CardKey(p.ID))
	if err != nil {
		// A damaged section is known already.
		return
	}
	differ, err := r.cardsOf.Compare(card, p)
	if err != nil {
		r.damage.addf("%s: its card: %w", name, err)
	} else if differ != 0 {
		r.damage.addf("%s: its card has other %s than the project", name, differ)
	}
}

// checkCards finds cards of projects that are not saved themselves.
func (r *references) checkCards() {
	r.saved.Keys(datadir.CardPrefix, func(key string, _ uint64) bool {
		if key == datadir.CardsMark || datadir.IsChunk(key) {
			return true
		}
		project := datadir.IDOf(key)
		if _, saved := r.saved.SectionPosition(datadir.ProjectKey(project)); !saved {
			r.damage.addf("project %s: its card is saved, and there is no section of it",
				project.Format(id.Project))
		}
		return true
	})
}
