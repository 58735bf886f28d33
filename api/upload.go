package api

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
)

// CreateUpload is the body of upload.create. It has what project.import takes beside the bundle.
type CreateUpload struct {
	// Who can see the new project.
	Visibility string `json:"visibility" check:"required,enum=PUBLIC|UNLISTED|PRIVATE"`
	// Its name; that of the bundle if absent.
	Name *string `json:"name" check:"chars=1..120,line"`
	// Description; that of the bundle if absent.
	Description *string `json:"description" check:"chars=0..4000,text"`
	// Required for PUBLIC and UNLISTED; REFERENCE_ONLY for PRIVATE if absent.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// SPDX expression, NOASSERTION or NONE; that of the bundle if absent.
	LicenseSPDX *string `json:"license_spdx"`
}

// FinishUpload is the body of upload.finish.
type FinishUpload struct {
	// How many parts there are; they have the numbers from 1 to this.
	Parts *int `json:"parts" check:"min=1,max=1024"`
	// SHA-256 of all parts together, hexadecimal.
	SHA256 string `json:"sha256" check:"pattern=^[0-9a-f]{64}$"`
}

// RawBody is a body that is not JSON.
type RawBody struct {
	// Content is valid until the request is answered.
	Content []byte
}

// Upload is a bundle that is sent in parts.
type Upload struct {
	// The upload's ID.
	ID string `json:"id" check:"id=upl_"`
	// FAILED means that the last import failed: send parts again, or finish it again.
	Status UploadStatus `json:"status" check:"enum=OPEN|IMPORTING|DONE|FAILED"`
	// The parts, in the order of their numbers; none if the upload is DONE.
	Parts []UploadPartRecord `json:"parts"`
	// Size of all parts, without content coding.
	ReceivedBytes int64 `json:"received_bytes"`
	// Limits of an upload.
	Limits UploadLimits `json:"limits"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When it expires unless there is activity before.
	ExpiresAt Time `json:"expires_at"`
	// The project that was made; null unless the upload is DONE.
	ProjectID *string `json:"project_id" check:"id=prj_"`
	// Why the last import failed; null if it did not.
	Error *UploadError `json:"error"`
	// Progress of the import.
	Progress UploadProgress `json:"progress"`
}

// UploadPartRecord is a part of an upload.
type UploadPartRecord struct {
	// Its number, from 1.
	Number int `json:"number"`
	// Its size, without content coding.
	SizeBytes int `json:"size_bytes"`
	// SHA-256 of its content, hexadecimal.
	SHA256 string `json:"sha256"`
}

// UploadLimits are the limits of an upload.
type UploadLimits struct {
	// Size of a part, as sent and without content coding.
	PartBytes int `json:"part_bytes"`
	// Highest number of a part.
	Parts int `json:"parts"`
	// Size of all parts.
	Bytes int64 `json:"bytes"`
	// Size of the records of the bundle, beside its contents.
	RecordBytes int `json:"record_bytes"`
	// How long it lasts after its last activity.
	Seconds int `json:"seconds"`
}

// UploadError is why an import failed, as the answer of upload.finish says.
type UploadError struct {
	// The code of the error.
	Code string `json:"code"`
	// A sentence about it.
	Message string `json:"message"`
}

// UploadProgress is the progress of an import.
type UploadProgress struct {
	// How much the running import has read; 0 if none runs.
	ReadBytes int64 `json:"read_bytes"`
	// How much there is to read.
	TotalBytes int64 `json:"total_bytes"`
}

// UploadData is the data of an upload.
type UploadData struct {
	// The upload.
	Upload Upload `json:"upload"`
}

// UploadPartData is the data of upload.put_part.
type UploadPartData struct {
	// The part.
	Part UploadPartRecord `json:"part"`
}

// UploadDeleted is the data of upload.delete.
type UploadDeleted struct {
	// The upload's ID.
	ID string `json:"upload_id" check:"id=upl_"`
	// Always true.
	Deleted bool `json:"deleted"`
}

const uploadPath = "/api/v1/projects/import/uploads"

var uploadParam = Param{Name: "upload", Doc: "The upload's ID."}

var uploadOperations = []*Operation{
	withValidation(declare[CreateUpload, UploadData](Operation{
		Name: "upload.create", Method: "POST", Path: uploadPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Errors: []fault.Code{fault.ReusePolicyRequired, fault.InvalidLicense},
		Tag:    "bundles", Summary: "Begin to upload a bundle in parts",
		Doc: "Begins an upload for a bundle that is larger than a request. Only its agent sees " +
			"it. It expires an hour after its last activity. An Idempotency-Key is kept as " +
			"long as the upload.",
	}, createUpload), (*CreateUpload).validate),
	declare[None, UploadData](Operation{
		Name: "upload.read", Method: "GET", Path: uploadPath + "/{upload}",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200}, OnLeader: true,
		Params: []Param{uploadParam}, Errors: []fault.Code{fault.UploadNotFound},
		Tag: "bundles", Summary: "Get an upload",
		Doc: "Returns the status of an upload, its parts, and the progress or the result of " +
			"its import.",
	}, readUpload),
	withRawBody(declare[RawBody, UploadPartData](Operation{
		Name: "upload.put_part", Method: "PUT", Path: uploadPath + "/{upload}/parts/{part}",
		Auth: Bearer, Category: CategoryWrite, Statuses: []int{200}, BodyMax: UploadPartBytesMax,
		Params: []Param{uploadParam, {
			Name: "part", Check: "min=1,max=1024", Integer: true,
			Doc: "Number of the part, from 1 to 1024.",
		}},
		Errors: []fault.Code{fault.UploadNotFound, fault.UploadNotOpen},
		Tag:    "bundles", Summary: "Send a part of an upload",
		Doc: "Stores bytes of the bundle durably, in place of an earlier part with the number. " +
			"Parts may be cut anywhere. Each may have a Content-Encoding of its own.",
	}, putUploadPart)),
	declare[FinishUpload, ImportedData](Operation{
		Name: "upload.finish", Method: "POST", Path: uploadPath + "/{upload}/finish",
		Auth: Bearer, Category: CategoryCreation, Statuses: []int{201}, BodyOptional: true,
		Params: []Param{uploadParam}, Expensive: true,
		Errors: []fault.Code{
			fault.UploadNotFound, fault.UploadNotOpen, fault.ProjectNotFound,
		},
		Tag: "bundles", Summary: "Import an upload",
		Doc: "Imports all parts, one after the other, as project.import does. They are a bundle, " +
			"or the whole answer of project.export. Answers when the project is made; a repeat " +
			"gets the same answer. An upload that is refused stays, so parts can be sent again.",
	}, finishUpload),
	declare[None, UploadDeleted](Operation{
		Name: "upload.delete", Method: "DELETE", Path: uploadPath + "/{upload}",
		Auth: Bearer, Category: CategoryWrite, Statuses: []int{200},
		Params: []Param{uploadParam},
		Errors: []fault.Code{fault.UploadNotFound, fault.UploadNotOpen},
		Tag:    "bundles", Summary: "Delete an upload",
		Doc: "Deletes an upload and its parts. A project that was made of it stays.",
	}, deleteUpload),
}

// withRawBody marks an operation whose body is not JSON.
func withRawBody(op *Operation) *Operation {
	op.RawMedia = []string{rawType, jsonType}
	return op
}

// The media types of raw bodies, the usual one first.
const (
	rawType  = "application/octet-stream"
	jsonType = "application/json"
)

// recordBytesMax is the size of the records of an uploaded bundle where the configuration says
// nothing.
const recordBytesMax = 32 << 20

func (c *Config) uploadRecordBytes() int {
	if c.UploadRecordBytes > 0 {
		return c.UploadRecordBytes
	}
	return recordBytesMax
}

// validate validates license and reuse policy, which the bundle does not replace: INVALID_LICENSE,
// REUSE_POLICY_REQUIRED.
func (b *CreateUpload) validate(c *Call) []error {
	input := CreateProject{Visibility: b.Visibility, ReusePolicy: b.ReusePolicy}
	if b.LicenseSPDX != nil {
		input.LicenseSPDX = *b.LicenseSPDX
	}
	return input.validate(c)
}

func (c *Call) uploadID() (id.ID, error) {
	upload, ok := id.Parse(id.Upload, c.Param("upload"))
	if !ok {
		return id.ID{}, fault.New(fault.UploadNotFound, "There is no such upload.")
	}
	return upload, nil
}

func createUpload(c *Call, body *CreateUpload) (Reply, error) {
	if err := fault.Together(body.validate(c)...); err != nil {
		return Reply{}, err
	}
	text, err := json.Marshal(body, json.OmitZeroStructFields(true))
	if err != nil {
		return Reply{}, err
	}
	derived := func(purpose string) id.ID {
		mac := hmac.New(sha256.New, c.Service.Engine.Secret())
		mac.Write([]byte(purpose))
		mac.Write(c.Agent[:])
		mac.Write([]byte(c.RequestID))
		return id.New(c.Now, [10]byte(mac.Sum(nil)))
	}
	state, replayed, err := c.Service.Engine.CreateUpload(UploadRecord{
		ID: derived("upload"), Project: derived("project of an upload"), Agent: c.Agent,
		CreatedAt: c.Now, Key: c.Idempotency, Body: text,
	})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: UploadData{Upload: c.upload(&state)}, Replayed: replayed}, nil
}

func readUpload(c *Call, _ *None) (Reply, error) {
	upload, err := c.uploadID()
	if err != nil {
		return Reply{}, err
	}
	state, err := c.Service.Engine.Upload(c.Agent, upload)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: UploadData{Upload: c.upload(&state)}}, nil
}

// upload returns an upload on the wire.
func (c *Call) upload(state *UploadState) Upload {
	one := Upload{
		ID: state.ID.Format(id.Upload), Status: state.Status, CreatedAt: Time(state.CreatedAt),
		ExpiresAt: Time(state.ActiveAt + UploadSeconds*1000), Parts: []UploadPartRecord{},
		Limits: UploadLimits{
			PartBytes: UploadPartBytesMax, Parts: UploadPartsMax, Bytes: UploadBytesMax,
			RecordBytes: c.Service.Config.uploadRecordBytes(), Seconds: UploadSeconds,
		},
		Progress: UploadProgress{ReadBytes: state.Read},
	}
	for _, part := range state.Parts {
		one.Parts = append(one.Parts, uploadPart(part))
		one.ReceivedBytes += int64(part.Size)
	}
	one.Progress.TotalBytes = one.ReceivedBytes
	if state.Status == UploadDone {
		project := state.Project.Format(id.Project)
		one.ProjectID = &project
	}
	if failure := state.Failure; failure != nil {
		one.Error = &UploadError{Code: string(failure.Code), Message: failure.Message}
	}
	return one
}

func uploadPart(part UploadPart) UploadPartRecord {
	return UploadPartRecord{
		Number: part.Number, SizeBytes: part.Size, SHA256: hex.EncodeToString(part.SHA256[:]),
	}
}

func putUploadPart(c *Call, body *RawBody) (Reply, error) {
	upload, err := c.uploadID()
	if err != nil {
		return Reply{}, err
	}
	number, err := strconv.Atoi(c.Param("part"))
	if err != nil || number < 1 || number > UploadPartsMax ||
		strconv.Itoa(number) != c.Param("part") {
		return Reply{}, fault.Invalid(fault.Field{
			Field: "part", Problem: fmt.Sprintf("must be from 1 to %d", UploadPartsMax),
		})
	}
	if len(body.Content) == 0 {
		return Reply{}, fault.Invalid(fault.Field{Field: "body", Problem: "is empty"})
	}
	part, err := c.Service.Engine.PutUploadPart(c.Agent, upload, number, body.Content)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: UploadPartData{Part: uploadPart(part)}}, nil
}

func deleteUpload(c *Call, _ *None) (Reply, error) {
	upload, err := c.uploadID()
	if err == nil {
		err = c.Service.Engine.DeleteUpload(c.Agent, upload)
	}
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: UploadDeleted{ID: upload.Format(id.Upload), Deleted: true}}, nil
}

// requestOf returns the request of project.import with the records of a bundle.
func requestOf(made []byte, records []byte) []byte {
	made = bytes.TrimSuffix(made, []byte("}"))
	text := append([]byte{'{'}, records...)
	if rest := bytes.TrimPrefix(made, []byte("{")); len(rest) > 0 {
		if len(records) > 0 {
			text = append(text, ',')
		}
		text = append(text, rest...)
	}
	return append(text, '}')
}

// decodeImport decodes the request of project.import that an upload is.
func decodeImport(stream *bundleStream, made []byte) (*ImportProject, error) {
	body := &ImportProject{Bundle: BundleInput{staged: &stream.staged}}
	text := requestOf(made, stream.records)
	stream.records, stream.unquoted = nil, nil
	if err := jsonschema.Decode(text, body); err != nil {
		return nil, err
	}
	if !body.Bundle.read {
		return nil, fault.Invalid(fault.Field{Field: "bundle", Problem: isRequired})
	}
	return body, nil
}
