package columnar

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// TestFilesAreNoLargerThanThoseOfAnotherWriter: arrow-go writes the same rows in the same order, also with zstd and an
// index of pages, which are of a megabyte.
func TestFilesAreNoLargerThanThoseOfAnotherWriter(t *testing.T) {
	t.Parallel()
	day := func(late time.Duration) func(io.Writer) error {
		return func(to io.Writer) error { return writeReadings(to, 30, 1440, time.Minute, late) }
	}
	const description = 512 // of series, and what the library says of pages
	for name, write := range map[string]func(io.Writer) error{
		"a day, each minute":               day(0),
		"a day, late by milliseconds":      day(time.Millisecond),
		"a day, late by parts of a second": day(100),
		"a day of many devices": func(to io.Writer) error {
			return writeReadings(to, 300, 144, 10*time.Minute, 0)
		},
		"a day of few devices": func(to io.Writer) error {
			return writeReadings(to, 10, 144, 10*time.Minute, 0)
		},
		"a month, late by parts of a second": func(to io.Writer) error {
			return writeReadings(to, 20, 8640, 5*time.Minute, 100)
		},
		"rollups of a day": writeRollups,
	} {
		t.Run(name, func(t *testing.T) {
			var ours bytes.Buffer
			must.Succeed(t, write(&ours))
			theirs := byArrow(t, ours.Bytes())
			t.Logf("%d bytes; as arrow-go writes them, %d", ours.Len(), len(theirs))
			if ours.Len() > len(theirs)+description {
				t.Errorf("%d bytes; as arrow-go writes them, %d", ours.Len(), len(theirs))
			}
		})
	}
}

// writeReadings writes readings of devices. One is sent in each interval, and comes up to a second later, by a multiple
// of a unit, if there is one.
func writeReadings(to io.Writer, devices, readings int, every, late time.Duration) error {
	sensors := []string{"temperature", "humidity", "pressure", "flow", "voltage", "battery"}
	var series []NamedSeries
	for _, name := range sensors {
		series = append(series, NamedSeries{Series{Sensor: name}, name})
	}
	w := NewReadings(to, series)
	for n := range devices {
		walk := walker{r: rand.New(rand.NewPCG(1, uint64(n)))}
		phase := time.Duration(n*7919%int(every.Milliseconds())) * time.Millisecond
		for i := range readings {
			at := noon.Add(time.Duration(i)*every + phase)
			if late > 0 {
				at = at.Add(late * time.Duration(walk.r.IntN(int(time.Second/late))))
			}
			s := fold.Sample{Key: schema.RowKey{Ticks: at}}
			for sensor, name := range sensors {
				s.Values = append(s.Values, fold.SensorValue{Sensor: name, Is: fold.Number, Number: walk.value(sensor)})
			}
			if err := w.Write(fmt.Sprintf("site-%03d:pump-%06d", n/100, n), nil, &s); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// A walker goes up and down, in hundredths.
type walker struct {
	r  *rand.Rand
	at [6]float64
}

func (w *walker) value(sensor int) float64 {
	w.at[sensor] += w.r.NormFloat64() / 10
	return math.Round(100*(float64(20*sensor+20)+w.at[sensor])) / 100
}

// writeRollups writes the hours of a day.
func writeRollups(to io.Writer) error {
	columns := []TableColumn{{Name: "device"}, {"time", Moments}, {Name: "sensor"}, {"count", Counts}}
	for _, name := range []string{"sum", "min", "max", "first", "last"} {
		columns = append(columns, TableColumn{name, Doubles})
	}
	w := NewTable(to, append(columns, TableColumn{"first_time", Moments}, TableColumn{"last_time", Moments}))
	for n := range 300 {
		walk := walker{r: rand.New(rand.NewPCG(1, uint64(n)))}
		for hour := range 24 {
			at := noon.Add(time.Duration(hour) * time.Hour)
			for sensor := range 6 {
				least, most := walk.value(sensor), walk.value(sensor)
				if most < least {
					least, most = most, least
				}
				if err := w.Write(fmt.Sprintf("site-%03d:pump-%06d", n/100, n), at, fmt.Sprint("sensor ", sensor), int64(60),
					60*least, least, most, least, most, at+tables.Ticks(n), at.Add(59*time.Minute)+tables.Ticks(n)); err != nil {
					return err
				}
			}
		}
	}
	return w.Close()
}

// byArrow returns the rows of a file as arrow-go writes them with zstd of level 3.
func byArrow(t *testing.T, data []byte) []byte {
	t.Helper()
	in := must.Have(file.NewParquetReader(bytes.NewReader(data)))(t)
	rows := must.Have(must.Have(pqarrow.NewFileReader(in, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator))(t).
		ReadTable(t.Context()))(t)
	defer rows.Release()
	var out bytes.Buffer
	zstd := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(3),
		parquet.WithPageIndexEnabled(true))
	must.Succeed(t, pqarrow.WriteTable(rows, &out, rows.NumRows(), zstd, pqarrow.DefaultWriterProps()))
	return out.Bytes()
}
