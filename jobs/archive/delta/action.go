package delta

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
)

// A Protocol says which readers and writers understand a table.
type Protocol struct {
	MinReader int32 `json:"minReaderVersion" parquet:"minReaderVersion"`
	MinWriter int32 `json:"minWriterVersion" parquet:"minWriterVersion"`
}

// protocol is that of all tables.
var protocol = Protocol{MinReader: 1, MinWriter: 2}

// A Format is how files are stored.
type Format struct {
	Provider string            `json:"provider" parquet:"provider"`
	Options  map[string]string `json:"options" parquet:"options"`
}

// A Metadata has the columns of a table.
type Metadata struct {
	ID            string            `json:"id" parquet:"id"` // a UUID; readers cache by it, so a log that begins again has another
	Name          string            `json:"name,omitempty" parquet:"name,optional"`
	Format        Format            `json:"format" parquet:"format"`
	Schema        string            `json:"schemaString" parquet:"schemaString"`
	Partitions    []string          `json:"partitionColumns" parquet:"partitionColumns,list"`
	Configuration map[string]string `json:"configuration" parquet:"configuration"`
	Created       int64             `json:"createdTime,omitzero" parquet:"createdTime,optional"` // ms since 1970
}

// An Add is a file that a table has.
type Add struct {
	Path       string            `json:"path" parquet:"path"` // below the table's folder, URL-encoded
	Partition  map[string]string `json:"partitionValues" parquet:"partitionValues"`
	Size       int64             `json:"size" parquet:"size"`                         // bytes
	Modified   int64             `json:"modificationTime" parquet:"modificationTime"` // ms since 1970
	DataChange bool              `json:"dataChange" parquet:"dataChange"`
	Stats      string            `json:"stats,omitempty" parquet:"stats,optional"` // Stats, as JSON
}

// A Remove is a file that a table had.
type Remove struct {
	Path       string            `json:"path" parquet:"path"`
	Deleted    int64             `json:"deletionTimestamp" parquet:"deletionTimestamp,optional"` // ms since 1970
	DataChange bool              `json:"dataChange" parquet:"dataChange"`
	Extended   bool              `json:"extendedFileMetadata" parquet:"extendedFileMetadata,optional"`
	Partition  map[string]string `json:"partitionValues,omitempty" parquet:"partitionValues,optional"`
	Size       int64             `json:"size,omitzero" parquet:"size,optional"`
}

// An Info says what a version was for. Readers show it, and use nothing of it.
type Info struct {
	Timestamp int64             `json:"timestamp"` // ms since 1970
	Operation string            `json:"operation"`
	Params    map[string]string `json:"operationParameters"`
	Blind     bool              `json:"isBlindAppend"`
	Engine    string            `json:"engineInfo"`
	TxnID     string            `json:"txnId"` // random: tells whose version it is
}

// An action is one line of a version, and one row of a checkpoint.
type action struct {
	Info     *Info     `json:"commitInfo,omitempty" parquet:"-"`
	Protocol *Protocol `json:"protocol,omitempty" parquet:"protocol,optional"`
	Metadata *Metadata `json:"metaData,omitempty" parquet:"metaData,optional"`
	Remove   *Remove   `json:"remove,omitempty" parquet:"remove,optional"`
	Add      *Add      `json:"add,omitempty" parquet:"add,optional"`
}

// A Version is what one version of a table changed.
type Version struct {
	Info     Info
	Begins   bool      // the log begins with it: it says which protocol the table has
	Metadata *Metadata // nil: the columns stay
	Removed  []Remove
	Added    []Add
}

// Bytes returns the version's file.
func (v *Version) Bytes(number int64) ([]byte, error) {
	all := []action{{Info: &v.Info}}
	if v.Begins {
		all = append(all, action{Protocol: &protocol})
	}
	if v.Metadata != nil {
		all = append(all, action{Metadata: v.Metadata})
	}
	for i := range v.Removed {
		all = append(all, action{Remove: &v.Removed[i]})
	}
	for i := range v.Added {
		all = append(all, action{Add: &v.Added[i]})
	}
	var b bytes.Buffer
	for i := range all {
		line, err := json.Marshal(&all[i], json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("version %d of a table: %w", number, err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}
