package tensor

// readAll reads every cache line of data.
func readAll(data []byte) { readLines(&data[0], len(data)/512) }
