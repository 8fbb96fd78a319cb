package properties

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"sync"
	"sync/atomic"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A Keeper has the properties of one service.
type Keeper struct {
	service wire.Service
	store   *store.Store
	mu      sync.Mutex // of changes
	now     atomic.Pointer[Properties]
}

// Open reads the properties of a service.
func Open(s *store.Store, service wire.Service) (*Keeper, error) {
	k := &Keeper{service: service, store: s}
	p := defaults(service)
	value, found, err := s.Get(k.key())
	if err == nil && found {
		err = json.Unmarshal(value, &p)
	}
	k.now.Store(&p)
	return k, err
}

func (k *Keeper) key() []byte { return append([]byte{store.PrefixProperties}, k.service...) }

func (k *Keeper) rules() []rule { return k.now.Load().Cors.Rules }

// Get answers with the properties.
func (k *Keeper) Get(w http.ResponseWriter, r *wire.Request) error {
	if err := ofService(r); err != nil {
		return err
	}
	document, err := xml.Marshal(k.now.Load())
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusOK, append([]byte(wire.XMLHeader), document...))
}

// Set changes the properties that the body has. The change is in force when it is answered; on Azure it takes up to
// 30 s.
func (k *Keeper) Set(w http.ResponseWriter, r *wire.Request) error {
	if err := ofService(r); err != nil {
		return err
	}
	body, err := r.ReadBody(maxBody)
	if err != nil {
		return err
	}
	change, err := parse(body, k.service)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.now.Load().merge(change)
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	b := k.store.Batch()
	b.Set(k.key(), value)
	if err := k.store.Apply(b)(); err != nil {
		return err
	}
	k.now.Store(p)
	return wire.Empty(w, http.StatusAccepted)
}

// Stats answers as Azure does while a secondary endpoint cannot be reached: there is none. The primary one has no
// statistics.
func (k *Keeper) Stats(w http.ResponseWriter, r *wire.Request) error {
	if err := ofService(r); err != nil {
		return err
	}
	if !r.Secondary {
		return wire.BadQuery("comp", "stats", "Only the secondary endpoint has statistics.")
	}
	return wire.XML(w, http.StatusOK, []byte(wire.XMLHeader+"<StorageServiceStats><GeoReplication>"+
		"<Status>unavailable</Status><LastSyncTime /></GeoReplication></StorageServiceStats>"))
}

// ofService refuses requests about the account, or about nothing.
func ofService(r *wire.Request) error {
	if what := r.Query.Get("restype"); what != "service" {
		return wire.BadQuery("restype", what, "It must be service.")
	}
	return nil
}
