package setup

import (
	"log/slog"

	"furrow/sas"
)

// FollowMaster returns a function that returns the master key in a file as it is now. The file must be one that
// OpenMaster has read.
func FollowMaster(file string, log *slog.Logger) (func() sas.SealingKey, error) {
	w, err := Watch(file, log, func([]byte) (sas.SealingKey, error) { return ReadMaster(file) })
	if err != nil {
		return nil, err
	}
	return w.Get, nil
}
