package schema

import (
	"unicode"
	"unicode/utf8"

	"furrow/tables"
)

// PropertyName returns the name of the property that holds a member of a document. It is the member's own name if
// storage allows it. Otherwise each character that is no letter, digit or _ becomes _, a digit at the beginning gets
// one before it, and PartitionKey, RowKey and Timestamp get one at the end: tenant-id is tenant_id.
func PropertyName(member string) string {
	if tables.CheckName(member) == nil {
		return member
	}
	name := string(AppendName(nil, member, len(member)))
	switch name {
	case "PartitionKey", "RowKey", "Timestamp":
		return name + "_"
	}
	if first, _ := utf8.DecodeRuneInString(name); first != '_' && !unicode.IsLetter(first) {
		return "_" + name
	}
	return name
}

// AppendName appends to a name the key of an object within it, with _ for each character that is no letter, digit or _.
// It stops soon after the name has become longer than most bytes.
func AppendName(name []byte, key string, most int) []byte {
	for _, r := range key {
		if len(name) > most {
			break
		}
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = '_'
		}
		name = utf8.AppendRune(name, r)
	}
	return name
}
