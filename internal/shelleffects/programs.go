package shelleffects

// programs is the table: one line per program (or for several similar ones), "names | options |
// operands". Options are flags (-abc, --long), options with a value (-n=kind, --long=kind, separate
// or joined) and options whose value can only be joined (-w?kind, --long?kind); -NUM is -5.
// Operands are kinds in order, the last with * for any number, then properties: see [row]. Anything
// not listed is unknown, so the table may be incomplete but must not be wrong: leave out every
// option that writes, executes, connects or reads a list of paths, and every option whose value
// another implementation of the program (BSD, busybox) would not take.
const programs = `
# text
true, false, :, echo | | any
yes | | text* harmless
seq | -w -s=text -f=text -NUM --equal-width --separator=text --format=text | text*
sleep | | text*
basename | -az -s=text --multiple --suffix=text --zero | text* harmless
dirname | -z --zero | text* harmless
expr | | text*
printf | | text* first
tr | -cCdst --complement --delete --squeeze-repeats --truncate-set1 | text*

# the system
pwd | -LP | none
whoami, tty, logname, users, groups, arch | | none
nproc | --all | none
id | -ugGnrz --user --group --groups --name --real | text*
uname | -asnrvmpio --all --kernel-name --nodename --kernel-release --machine --processor --operating-system | none
hostname | -s | none
uptime | -ps | none
date | -uR -I?text -d=text -r=name --utc --universal --rfc-email --iso-8601?text --rfc-3339=text --date=text --reference=name | text*
free | -bkmght --human --mega --giga --total | none
df | -ahHiklmPT -t=text -x=text --human-readable --inodes --total --type=text --output?text | name*
du | -abchHklLmsSx0 -d=text -t=text --all --bytes --total --human-readable --summarize --apparent-size --max-depth=text --exclude=text --one-file-system --time?text --si --threshold=text | name* here harmless
ps | -AaefFljTwxHZy -u=text -p=text -C=text -t=text -o=text --sort=text --forest --no-headers --pid=text --ppid=text --user=text --format=text --cols=text --width=text | text*
pgrep | -flaxcivno -u=text -P=text -d=text --list-name --list-full --full --exact --count --newest --oldest --parent=text | text*
jobs | -lprs | none
umask | -S | none
ulimit | -a | none
vmstat | -asdnmtw | text*
who, w | -abdHlmqrsTtuhf | none
lscpu | -ae | none
cal, ncal | -13jmy | text*
locale | -a | text*
getconf | -a | text*

# names of files
ls | -aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxX1 --all --almost-all --author --block-size=text --color?text --directory --classify?text --format=text --full-time --group-directories-first --no-group --human-readable --si --hide=text --inode --ignore=text --kibibytes --dereference --literal --numeric-uid-gid --indicator-style=text --quote-name --quoting-style=text --reverse --recursive --size --sort=text --time=text --time-style=text --width=text --zero --escape | name* here harmless
tree | -adfilxshDFCnpugrtvUJXqNQcS -L=text -P=text -I=text --noreport --dirsfirst --filesfirst --gitignore --prune --du --si --matchdirs --ignore-case --charset=text --filelimit=text --sort?text --timefmt=text --metafirst --inodes --device | name* here apart
stat | -Lt -c=text --format=text --printf=text --dereference --terse --file-system | name* harmless
realpath, readlink | -efmnqsLPvz --canonicalize --canonicalize-existing --canonicalize-missing --quiet --strip --zero --no-newline --verbose --no-symlinks --relative-to=name --relative-base=name | name* harmless
file | -bhikLNnr0 --brief --mime --mime-type --mime-encoding --no-dereference --dereference --keep-going --no-pad --print0 | name*
which | -a --all | text*

# contents of files
cat | -AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting | file* harmless
tac | -br -s=text --before --regex --separator=text | file* harmless
rev | | file* harmless
head | -qvz -n=text -c=text -NUM --lines=text --bytes=text --quiet --silent --verbose --zero-terminated | file* harmless
tail | -fFqvz -n=text -c=text -s=text -NUM --lines=text --bytes=text --follow?text --retry --pid=text --quiet --silent --verbose --sleep-interval=text --zero-terminated | file* harmless
wc | -clmLw --bytes --chars --lines --max-line-length --words --total=text | file* harmless
nl | -p -b=text -d=text -f=text -h=text -i=text -l=text -n=text -s=text -v=text -w=text --body-numbering=text --number-format=text --number-width=text --starting-line-number=text | file* harmless
cut | -nsz -b=text -c=text -d=text -f=text --bytes=text --characters=text --delimiter=text --fields=text --complement --only-delimited --output-delimiter=text --zero-terminated | file* harmless
fold | -bs -w=text -NUM --bytes --spaces --width=text | file* harmless
fmt | -cstu -w=text -p=text -g=text -NUM --crown-margin --split-only --uniform-spacing --width=text --prefix=text --goal=text | file* harmless
expand, unexpand | -ai -t=text -NUM --initial --all --tabs=text --first-only | file* harmless
paste | -sz -d=text --delimiters=text --serial --zero-terminated | file* harmless
join | -iz -a=text -e=text -1=text -2=text -j=text -o=text -t=text -v=text --ignore-case --header --check-order --nocheck-order | file* harmless
comm | -123iz --total --check-order --nocheck-order --output-delimiter=text --zero-terminated | file* harmless
column | -tx -s=text -c=text -o=text -N=text -H=text -R=text --table --separator=text --output-separator=text --columns=text --table-columns=text | file* harmless
od | -abcdfiloOsxDeFhHILvX -A=text -t=text -j=text -N=text -w?text --address-radix=text --format=text --skip-bytes=text --read-bytes=text --output-duplicates --width?text | file* harmless
hexdump, hd | -bcCdovx -e=text -n=text -s=text --canonical --length=text --skip=text --no-squeezing | file* harmless
xxd | -abdeipu -c=text -g=text -l=text -s=text | file first plain
strings | -af -n=text -t=text -e=text -NUM --all --print-file-name --bytes=text --radix=text --encoding=text | file* harmless
base64, base32 | -di -w=text --decode --ignore-garbage --wrap=text | file* harmless
md5sum, sha1sum, sha224sum, sha256sum, sha384sum, sha512sum, b2sum | -btz --binary --text --tag --zero | file* harmless
shasum | -bt -a=text --algorithm=text | file*
cksum, sum | -rs | file* harmless
cmp | -bls -i=text -n=text --print-bytes --ignore-initial=text --verbose --bytes=text --quiet --silent | file*
diff | -abBdeEiNnpqrstTuwyZc -C=text -U=text -W=text -F=text -I=text -x=text -D=text -NUM --normal --brief --report-identical-files --context?text --unified?text --ed --rcs --side-by-side --width=text --left-column --suppress-common-lines --show-c-function --show-function-line=text --label=text --expand-tabs --initial-tab --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude=text --starting-file=text --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=text --text --strip-trailing-cr --color?text --minimal --speed-large-files | file*
sort | -bcCdfgGhiMnRrsuVzm -k=text -t=text -S=text --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort=text --version-sort --check?text --debug --key=text --merge --stable --buffer-size=text --field-separator=text --parallel=text --unique --zero-terminated | file*
shuf | -erz -i=text -n=text --echo --input-range=text --head-count=text --repeat --zero-terminated | file*
uniq | -cdDiuz -f=text -s=text -w=text --count --repeated --all-repeated?text --skip-fields=text --group?text --ignore-case --skip-chars=text --unique --zero-terminated --check-chars=text | file first
tsort | | file*
unzip | -lv | file asks
zipinfo | -1lsmhtz | file
iconv | -cls -f=text -t=text --from-code=text --to-code=text --list | file*
jq | -acCejMnrRsS --compact-output --null-input --raw-input --slurp --raw-output --join-output --ascii-output --color-output --monochrome-output --tab --sort-keys --exit-status --seq --stream --unbuffered --indent=text | text file*

# searching
@grep | -abcEFGHhIiLlnoPqrRsTUvwxyZz -e=text -f=file -m=text -A=text -B=text -C=text -d=text -D=text -NUM --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp=text --file=file --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data --no-messages --invert-match --max-count=text --byte-offset --line-number --line-buffered --with-filename --no-filename --label=text --only-matching --quiet --silent --binary-files=text --text --directories=text --devices=text --recursive --dereference-recursive --include=glob --exclude=text --exclude-dir=text --files-without-match --files-with-matches --count --initial-tab --null --before-context=text --after-context=text --context=text --color?text --colour?text |
grep, egrep, fgrep | @grep | text file* here harmless instead:-e,-f,--regexp,--file
rg | -aciFHIlLnNopPqsSuUvwx0. -A=text -B=text -C=text -d=text -e=text -E=text -f=file -g=glob -j=text -m=text -M=text -r=text -t=text -T=text --after-context=text --before-context=text --context=text --regexp=text --file=file --glob=glob --iglob=glob --max-count=text --max-columns=text --max-depth=text --max-filesize=text --replace=text --type=text --type-not=text --threads=text --encoding=text --sort=text --sortr=text --color=text --colors=text --files --type-list --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --follow --one-file-system --json --stats --heading --no-heading --vimgrep --count --count-matches --files-with-matches --files-without-match --smart-case --ignore-case --case-sensitive --word-regexp --line-regexp --fixed-strings --invert-match --line-number --no-line-number --column --no-column --with-filename --no-filename --only-matching --trim --passthru --pcre2 --multiline --multiline-dotall --null --null-data --text --binary --no-messages --no-config --quiet --crlf --unrestricted --pretty --byte-offset --max-columns-preview --context-separator=text --glob-case-insensitive | text file* here instead:-e,-f,--regexp,--file,--files,--type-list
fd, fdfind | -HIusigFapL01q -d=text -t=text -e=text -E=text -c=text -S=text -j=text --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --full-path --follow --print0 --max-depth=text --min-depth=text --exact-depth=text --type=text --extension=text --exclude=text --color=text --size=text --changed-within=text --changed-before=text --max-results=text --quiet --prune --strip-cwd-prefix?text --base-directory=name | text name* here

# tools that print their version
python, python2, python3 | -V --version | none asks plain
node, ruby, perl, php, lua, make | -v --version | none asks plain
gcc, g++, cc, clang, clang++, cmake, ninja, docker, ffmpeg, sqlite3 | --version | none asks plain
java | --version | none asks
gofmt | --l --d --e --s --r=text | name* here go

# programs that change files, so that it is known which
rm | -rRfvid --recursive --force --verbose --dir --interactive?text --one-file-system --preserve-root | delete*
rmdir | -v --verbose --ignore-fail-on-non-empty | delete*
unlink | | delete
mkdir | -pv -m=text --parents --verbose --mode=text | write*
touch | -acm -d=text -t=text -r=name --no-create --date=text --reference=name | write*
cp | -aflLnpPrRsuvxHd --archive --force --no-clobber --recursive --update --verbose --no-dereference --dereference --preserve?text | file* last:write
mv | -fnuv --force --no-clobber --update --verbose | delete* last:write
ln | -sfnrv --symbolic --force --no-dereference --relative --verbose | text* last:write
chmod | -Rvcf --recursive --verbose --changes | text write*
tee | -ai --append --ignore-interrupts | write*
truncate | -c -s=text --size=text --no-create | write*
`

// killers, networkers and deleters are programs that are never read-only. They are listed so that a
// refusal can state the reason.
var (
	killers    = set("kill", "pkill", "killall", "killall5", "skill", "xkill", "fuser", "shutdown", "reboot", "halt", "poweroff", "init", "systemctl", "service")
	networkers = set("curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "ping", "ping6", "traceroute", "dig", "host", "nslookup", "nmap", "whois", "gh", "aws", "gcloud", "az", "kubectl", "npx", "pip", "pip3", "npm", "yarn", "pnpm", "apt", "apt-get", "brew", "dnf", "yum", "apk", "openssl", "mail", "sendmail", "http", "https", "aria2c", "lynx", "w3m", "links")
	deleters   = set("shred", "wipe", "srm", "dd", "mkfs", "wipefs", "fdisk", "parted")
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// mutates reports whether, according to the table, a program changes files.
func mutates(program string) bool {
	r := table()[program]
	if r == nil {
		return false
	}
	for _, k := range r.operands {
		if k == writes || k == deletes {
			return true
		}
	}
	return r.last == writes
}
