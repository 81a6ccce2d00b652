# SPDX-License-Identifier: Apache-2.0
#
# gpu_ioctls.awk - gpu_ioctls.csv and gpu_nv_status.csv as the tables that
# gpu_ioctl_table.c includes. A line that is not as described there ends the build.

BEGIN {
	FS = ","
	split("submit wait fence kms map mem ctx other query", names, " ")
	for (i in names)
		is_class[names[i]] = 1
	direction["none"] = 0; direction["W"] = 1; direction["R"] = 2; direction["RW"] = 3
	n_fields = n_rows = n_drivers = 0
}

function die(why) {
	printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0 > "/dev/stderr"
	failed = 1
	exit 1
}

/^#/ || /^$/ { next }

FILENAME ~ /nv_status/ {
	if (NF != 2 || $1 !~ /^0x[0-9A-Fa-f]+$/ || $2 !~ /^NV_[A-Z0-9_]+$/)
		die("not \"value,name\"")
	status = status sprintf("\t{ %s, \"%s\" },\n", $1, $2)
	next
}

# "flags@16:4x<"
function add_field(text,   p, q, offset, bytes, letters, flags, c, j) {
	p = index(text, "@")
	q = index(text, ":")
	if (p < 2 || q < p)
		die("field \"" text "\"")
	offset = substr(text, p + 1, q - p - 1)
	bytes = substr(text, q + 1, 1)
	letters = substr(text, q + 2)
	if (offset !~ /^[0-9]+$/ || bytes !~ /^[1248]$/)
		die("field \"" text "\"")
	flags = "0"
	for (j = 1; j <= length(letters); j++) {
		c = substr(letters, j, 1)
		if (c == "x") flags = flags " | FIELD_HEX"
		else if (c == "d") flags = flags " | FIELD_SIGNED"
		else if (c == "<") flags = flags " | FIELD_IN"
		else if (c == ">") flags = flags " | FIELD_OUT"
		else if (c == "s") flags = flags " | FIELD_STATUS"
		else die("field \"" text "\"")
	}
	fields = fields sprintf("\t{ \"%s\", %d, %d, %s },\n", substr(text, 1, p - 1), offset, bytes, flags)
	n_fields++
}

{
	if (NF != 8 || $2 !~ /^[A-Z][A-Z0-9_]+$/ || $4 !~ /^0x[0-9a-f]+$/ || !($5 in direction) ||
	    $6 !~ /^[0-9]+$/ || !($7 in is_class))
		die("not a row")
	if ($1 != driver) {
		if ($1 in seen)
			die("not sorted by driver")
		seen[driver = $1] = 1
		if (n_drivers++)
			drivers = drivers sprintf("%d },\n", n_rows)
		drivers = drivers sprintf("\t{ \"%s\", %d, ", driver, n_rows)
	}
	n = split($8, list, " ")
	rows = rows sprintf("\t{ \"%s\", %s, %s, %s, %d, GPU_CLASS_%s, %d, &fields[%d] },\n", $2, $4, $6, \
		$3 == "-" ? "0" : $3, direction[$5], toupper($7), n, n_fields)
	for (i = 1; i <= n; i++)
		add_field(list[i])
	n_rows++
}

END {
	if (failed)
		exit 1
	print "/* Made of gpu_ioctls.csv and gpu_nv_status.csv by gpu_ioctls.awk. */"
	printf "static const struct gpu_ioctl_field fields[] = {\n%s\t{ 0 },\n};\n\n", fields
	printf "/* name, nr, size, type, direction, class, fields */\n"
	printf "static const struct gpu_ioctl_info rows[] = {\n%s};\n\n", rows
	printf "/* name, its first row, the row behind its last */\n"
	printf "static const struct driver_rows drivers[] = {\n%s%d },\n};\n\n", drivers, n_rows
	printf "static const struct status_name statuses[] = {\n%s};\n", status
}
