package sandbox

import "context"

func init() {
	// Makes the layer of a commit; the arguments are the store and the repository.
	helpers["layers"] = func(a []string) error {
		s, err := OpenLayers(a[0], LayersConfig{})
		if err != nil {
			return err
		}
		l, err := s.Commit(context.Background(), a[1], "HEAD")
		if err != nil {
			return err
		}
		return l.Close()
	}
}
