package work

import (
	"fmt"
	"slices"

	"pws/internal/id"
)

// BundledContribution is a contribution of a bundle, with its revisions in order. The contribution
// and its reviews have the IDs of the bundle.
type BundledContribution struct {
	Record    Contribution
	Revisions []BundledRevision
	Origin    ContributionOrigin
}

// BundledRevision is a revision with its operations, which are validated like those of the history.
type BundledRevision struct {
	Record Revision
	Ops    []BundledOp
	// Malformed means that the form of the operations is invalid, so they cannot be validated
	// further.
	Malformed bool
}

// ContributionOrigin is what a bundle says about a contribution.
type ContributionOrigin struct {
	Record Origin `cbor:"1,keyasint"`
	// Revisions and Reviews are in the order of the contribution; later ones come last.
	Revisions []Origin `cbor:"2,keyasint,omitempty"`
	Reviews   []Origin `cbor:"3,keyasint,omitempty"`
	// Decision has the agent and the time of the decision; zero if there was none.
	Decision Origin `cbor:"4,keyasint"`
	// Project is the project of the Record, and Changeset the accepted changeset there.
	Changeset id.ID `cbor:"5,keyasint,omitzero"`
	Project   id.ID `cbor:"6,keyasint,omitzero"`
}

// RevisionOrigin returns the origin of a revision; nil if it was submitted here.
func (o *ContributionOrigin) RevisionOrigin(r *Revision) *Origin {
	if o == nil {
		return nil
	}
	return originAt(o.Revisions, r.Number-1)
}

// ReviewOrigin returns the origin of the nth review, from 0; nil if it was created here.
func (o *ContributionOrigin) ReviewOrigin(nth int) *Origin {
	if o == nil {
		return nil
	}
	return originAt(o.Reviews, nth)
}

// importContributions imports the contributions. Without the history the bases of their revisions
// are missing, so only the credits of accepted ones are kept.
func (b *bundleImport) importContributions() {
	if len(b.Contributions) > ContributionsMax {
		b.fault("contributions", fmt.Sprintf("must have at most %d items", ContributionsMax))
		return
	}
	files := 0
	for nth := range b.Contributions {
		from, field := &b.Contributions[nth], indexed("contributions", nth)
		fresh := id.ID{}
		if b.Imported.Whole {
			fresh = b.next()
		}
		b.newID(id.Contribution, from.Record.ID, fresh, field)
		made := b.importContribution(from, fresh, field)
		for i := range from.Revisions {
			files += len(from.Revisions[i].Ops)
		}
		if b.Imported.Whole {
			b.texts += made.Bytes()
			b.event.Contributions = append(b.event.Contributions, made)
			b.event.Imported.Contributions = append(b.event.Imported.Contributions, from.Origin)
		}
	}
	if files > RevisionFilesMax {
		b.fault("contributions", fmt.Sprintf(
			"must have at most %d operations in all revisions", RevisionFilesMax))
	}
	b.keepCredits()
}

func (b *bundleImport) importContribution(
	from *BundledContribution, fresh id.ID, field string,
) *Contribution {
	made := from.Record
	made.ID = fresh
	made.Author, made.CreatedAt, made.UpdatedAt = b.stamp.Agent, b.stamp.Now, b.stamp.Now
	made.Version = 1
	if made.Status == AcceptedStatus || !made.Changeset.IsZero() {
		if b.accepted[made.Changeset] {
			b.fault(field+".accepted_changeset_id", "is the changeset of another contribution")
		}
		b.accepted[made.Changeset] = true
		made.Changeset = b.named(id.Changeset, made.Changeset, field+".accepted_changeset_id")
	}
	if made.Status.Final() {
		made.DecidedBy, made.DecidedAt = b.stamp.Agent, b.stamp.Now
	}
	revisions := make(map[id.ID]id.ID, len(from.Revisions))
	made.Revisions = nil
	for i := range from.Revisions {
		one := b.importRevision(&from.Revisions[i], made.ID, field+"."+indexed("revisions", i))
		b.once(id.Revision, from.Revisions[i].Record.ID, field+"."+indexed("revisions", i))
		revisions[from.Revisions[i].Record.ID] = one.ID
		made.Revisions = append(made.Revisions, one.ID)
	}
	made.Reviews = make([]*Review, len(from.Record.Reviews))
	for i, review := range from.Record.Reviews {
		own := *review
		b.once(id.Review, review.ID, field+"."+indexed("reviews", i))
		own.ID, own.Author, own.CreatedAt = b.next(), b.stamp.Agent, b.stamp.Now
		known := false
		if own.Revision, known = revisions[review.Revision]; !known {
			b.fault(field+"."+indexed("reviews", i)+".revision_id",
				"names no revision of the contribution")
		}
		made.Reviews[i] = &own
	}
	return &made
}

// revisionOpsMax bounds the operations of one revision of a bundle. A workspace has at most
// OperationsMax, and a refresh can add to these.
const revisionOpsMax = 4 * OperationsMax

// importRevision turns the operations of a revision into the files that it changes of its base.
func (b *bundleImport) importRevision(
	from *BundledRevision, of id.ID, field string,
) *Revision {
	made := from.Record
	made.ID, made.Contribution, made.CreatedAt = b.next(), of, b.stamp.Now
	made.Base = b.named(id.Changeset, from.Record.Base, field+".base_changeset_id")
	if len(from.Ops) > revisionOpsMax {
		b.fault(field+".operations", fmt.Sprintf("must have at most %d items", revisionOpsMax))
		return &made
	}
	for i := range from.Ops {
		b.requested(&from.Ops[i].OpRecord, field+"."+indexed("operations", i))
	}
	made.Files = overlaidBy(from.Ops)
	if base, ok := b.tree.Changeset(from.Record.Base); ok && !from.Malformed && !b.broken {
		b.compareRevision(from, base, made.Files, field)
	}
	if b.Imported.Whole {
		b.texts += len(made.Summary)
		b.event.Revisions = append(b.event.Revisions, &made)
	}
	return &made
}

// overlaidBy returns the files that operations result in.
func overlaidBy(ops []BundledOp) []Overlaid {
	files := make(map[string]Overlaid, len(ops))
	for i := range ops {
		op := &ops[i]
		one := Overlaid{Path: op.Path, Blob: op.Blob, Size: op.Size, Type: op.Type}
		switch op.Action {
		case Delete:
			one = Overlaid{Path: op.Path}
		case Modify:
			one.From = op.Path
		case Rename:
			one.From = op.From
			files[op.From] = Overlaid{Path: op.From}
		case Create:
		}
		files[op.Path] = one
	}
	list := make([]Overlaid, 0, len(files))
	for _, one := range files {
		list = append(list, one)
	}
	slices.SortFunc(list, byOverlaidPath)
	return list
}

// compareRevision checks that the operations lead from the base to the files of the revision.
func (b *bundleImport) compareRevision(
	from *BundledRevision, base *Changeset, files []Overlaid, field string,
) {
	derived := b.tree.RevisionOperations(&Revision{Base: base.ID, Files: files})
	fits := slices.EqualFunc(derived, from.Ops, func(own RevisionOperation, op BundledOp) bool {
		return own.OpRecord == op.OpRecord &&
			(op.Previous == nil || *op.Previous == own.Before)
	})
	for i := range files {
		if files[i].exists() && fits {
			_, conflicts := b.tree.conflictOver(base, files, files[i].Path)
			fits = !conflicts
		}
	}
	if !fits || len(from.Ops) == 0 {
		b.fault(field+".operations", "do not apply to the base")
	}
}

// keepCredits keeps the credits of accepted contributions that are not imported, the newest first,
// followed by the credits that the project of the bundle had inherited.
func (b *bundleImport) keepCredits() {
	var credits []*CreditOrigin
	for nth := range slices.Backward(b.Contributions) {
		from := &b.Contributions[nth]
		if from.Record.Status == AcceptedStatus && !b.Imported.Whole {
			credits = append(credits, from.Origin.credit())
		}
	}
	for i := range b.Inherited {
		credits = append(credits, &b.Inherited[i])
	}
	for _, origin := range credits[:min(len(credits), CreditsMax)] {
		b.event.Imported.Credits = append(b.event.Imported.Credits, b.bundledCredit(origin))
	}
}

// BundledAttribution is a role of an agent in a contribution, according to a bundle.
type BundledAttribution struct {
	Agent BundledAgent
	Role  AttributionRole
	// At is the first time that the agent acted in the role, in Unix milliseconds.
	At int64
}

// Attribution returns the agents that wrote, reviewed and accepted it there, each once per role.
func (o *ContributionOrigin) Attribution() []BundledAttribution {
	list := []BundledAttribution{{o.Record.agent(), AttributedAuthor, o.Record.CreatedAt}}
	for i := range o.Reviews {
		one := &o.Reviews[i]
		if !slices.ContainsFunc(list[1:], func(a BundledAttribution) bool {
			return a.Agent == one.agent()
		}) {
			list = append(list,
				BundledAttribution{one.agent(), AttributedReviewer, one.CreatedAt})
		}
	}
	if !o.Changeset.IsZero() {
		list = append(list,
			BundledAttribution{o.Decision.agent(), AttributedAccepter, o.Decision.CreatedAt})
	}
	return list
}

// credit returns the credit for an accepted contribution.
func (o *ContributionOrigin) credit() *CreditOrigin {
	credit := &CreditOrigin{
		Project: o.Project, Contribution: o.Record.ID, Changeset: o.Changeset,
		Author: o.Record.agent(), AcceptedBy: o.Decision.agent(),
	}
	for _, one := range o.Attribution() {
		if one.Role == AttributedReviewer {
			credit.Reviewers = append(credit.Reviewers, one.Agent)
		}
	}
	return credit
}
