package outliers_test

import (
	"fmt"

	"furrow/worker/outliers"
)

// Twelve probes of a site read 8.1 to 8.4 °C, and a thirteenth 31.5. The median is 8.2, that of the distances from it
// 0.1, and so the spread 0.148. The limit of 13 devices is 8 × (1 + (10/13)²) = 12.7 spreads, which are 1.9 °C. The
// thirteenth is 23.3 °C away, which are 157.2 spreads.
func Example() {
	var devices []outliers.Device
	for i, value := range []float64{8.1, 8.1, 8.1, 8.2, 8.2, 8.2, 8.2, 8.3, 8.3, 8.3, 8.4, 8.4, 31.5} {
		devices = append(devices, outliers.Device{ID: fmt.Sprintf("probe-%d", i+1), Groups: []string{"site north"},
			Sensors: []outliers.Sensor{{Name: "temperature", Value: value}}})
	}
	for _, o := range outliers.Find(devices).Outliers {
		fmt.Printf("%s is %s: %s is %.1f, and the median of %d devices of %s is %.1f\n", o.Device, o.Kind, o.Sensor,
			o.Value, o.Neighbours, o.Group, o.Median)
		fmt.Printf("it is %.1f spreads away", o.Score)
	}
	// Output:
	// probe-13 is off: temperature is 31.5, and the median of 12 devices of site north is 8.2
	// it is 157.2 spreads away
}
