package local

// OpenOn is Open with the data on another file system. The key and the format stay
// in the directory itself.
var OpenOn = openOn
