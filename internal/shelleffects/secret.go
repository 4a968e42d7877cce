package shelleffects

import (
	"path"
	"slices"
	"strings"
)

// secretNames are file names that usually hold credentials, as patterns of [path.Match] in lower
// case.
var secretNames = []string{
	".env", ".env.*", "*.env", ".envrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk", "*_rsa", "*_ed25519", "*.pem", "*.key", "*.p12",
	"*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.gpg", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pgpass",
	".my.cnf", ".htpasswd", ".git-credentials", "credentials", "credentials.*", "*credentials.json", "credential*.json", "secrets", "secrets.*",
	"*secret.json", "*secret.yaml", "*secret.yml", "*secrets.json", "*secrets.yaml", "*secrets.yml", "*secrets.toml", "secret.txt", "secret.key",
	"service-account*.json", "service_account*.json", "shadow", "gshadow", "master.passwd", "sudoers", "passwords.*", "password.txt", "passwd.txt",
	".vault-token", ".vault_pass", "*.token", "token", "token.txt", "token.json", ".token", "kubeconfig", "*.tfvars", "*.tfstate", "*.tfstate.*",
	".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history",
	".mysql_history", ".*_history", ".authinfo", ".authinfo.gpg", "environ", "auth.json", "wp-config.php", ".credentials", ".credentials.*",
	"master.key", "api_key*", "apikey*", "*.ovpn", "local.settings.json",
}

// secretDirs are directories whose files are usually credentials.
var secretDirs = []string{".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".gcloud", "gcloud", ".password-store", ".secrets", "secrets", "keyrings"}

// plainEndings mark a file with a secret-looking name as a public example, or as the public half of
// a key.
var plainEndings = []string{".example", ".sample", ".template", ".tmpl", ".dist", ".pub", ".md", ".go", ".py", ".ts", ".js", ".rs", ".java", ".rb", ".c", ".h", ".html", ".css"}

// examples are names that a wildcard is tested against: a pattern that may match one of them may
// read a secret.
var examples = []string{".env", ".env.local", ".envrc", "prod.env", "id_rsa", "id_ed25519", "server.pem", "server.key", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", "credentials", "credentials.json", "secrets.yaml", "secrets.json", ".htpasswd", "terraform.tfstate", "prod.tfvars", "shadow", ".bash_history", ".ssh", ".aws", "environ"}

// SecretPath reports whether a file of that name usually holds credentials.
func SecretPath(name string) bool { return secretPath(name) }

// secretPath reports whether the file that word names usually holds credentials. A pattern counts
// if it has literal text and may match such a name; a bare "*" is as broad as reading the
// directory.
func secretPath(word string) bool {
	word = strings.ToLower(strings.TrimRight(word, "/"))
	segs := strings.Split(word, "/")
	for i, seg := range segs {
		last := i == len(segs)-1
		if strings.ContainsRune(seg, markGlob) {
			if globMayBeSecret(seg) {
				return true
			}
			continue
		}
		for _, d := range secretDirs {
			if seg == d && (d[0] == '.' || !last && !plain(segs[len(segs)-1])) {
				return true
			}
		}
		if last && secretName(seg) {
			return true
		}
	}
	return strings.HasSuffix(word, ".git/config")
}

func plain(name string) bool {
	return slices.ContainsFunc(plainEndings, func(end string) bool { return strings.HasSuffix(name, end) })
}

func secretName(name string) bool {
	if plain(name) {
		return false
	}
	for _, p := range secretNames {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

func globMayBeSecret(seg string) bool {
	text := strings.ReplaceAll(seg, string(markGlob), "")
	if text == "" || strings.ContainsRune(text, markAny) {
		return false
	}
	for _, e := range examples {
		if globMatches(seg, e) {
			return true
		}
	}
	return false
}

// globMatches matches like the shell, with every wildcard widened to "*". A leading dot must be
// literal.
func globMatches(pattern, name string) bool {
	if name[0] == '.' && strings.HasPrefix(pattern, string(markGlob)) {
		return false
	}
	parts := strings.Split(pattern, string(markGlob))
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(name, p)
		if i < 0 {
			return false
		}
		name = name[i+len(p):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// safeEnv are environment variables that hold no credentials.
var safeEnv = map[string]bool{
	"HOME": true, "PWD": true, "OLDPWD": true, "USER": true, "LOGNAME": true, "SHELL": true, "PATH": true, "LANG": true, "LC_ALL": true,
	"TERM": true, "HOSTNAME": true, "RANDOM": true, "SECONDS": true, "LINENO": true, "UID": true, "EUID": true, "PPID": true, "TMPDIR": true,
	"BASH_VERSION": true, "GOPATH": true, "GOROOT": true, "EDITOR": true, "PAGER": true, "CI": true, "TZ": true, "OSTYPE": true, "HOSTTYPE": true,
	"MACHTYPE": true, "COLUMNS": true, "LINES": true, "SHLVL": true, "VIRTUAL_ENV": true, "JAVA_HOME": true, "DISPLAY": true, "XDG_CONFIG_HOME": true,
}
