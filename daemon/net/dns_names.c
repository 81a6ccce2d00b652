/* SPDX-License-Identifier: Apache-2.0 */
/* dns_names.c - numbers of DNS as IANA's registries name them. */
#include <stdio.h>
#include <stdlib.h>

#include "dns.h"

#define N_OF(table) (sizeof(table) / sizeof((table)[0]))

struct name {
	uint16_t number;
	const char *name;
};

/* In order of their numbers. */
static const struct name types[] = {
	{ 0, "A+AAAA" },    { 1, "A" },		  { 2, "NS" },	    { 3, "MD" },
	{ 4, "MF" },	    { 5, "CNAME" },	  { 6, "SOA" },	    { 7, "MB" },
	{ 8, "MG" },	    { 9, "MR" },	  { 10, "NULL" },   { 11, "WKS" },
	{ 12, "PTR" },	    { 13, "HINFO" },	  { 14, "MINFO" },  { 15, "MX" },
	{ 16, "TXT" },	    { 17, "RP" },	  { 18, "AFSDB" },  { 19, "X25" },
	{ 20, "ISDN" },	    { 21, "RT" },	  { 22, "NSAP" },   { 23, "NSAP-PTR" },
	{ 24, "SIG" },	    { 25, "KEY" },	  { 26, "PX" },	    { 27, "GPOS" },
	{ 28, "AAAA" },	    { 29, "LOC" },	  { 30, "NXT" },    { 33, "SRV" },
	{ 35, "NAPTR" },    { 36, "KX" },	  { 37, "CERT" },   { 38, "A6" },
	{ 39, "DNAME" },    { 41, "OPT" },	  { 42, "APL" },    { 43, "DS" },
	{ 44, "SSHFP" },    { 45, "IPSECKEY" },	  { 46, "RRSIG" },  { 47, "NSEC" },
	{ 48, "DNSKEY" },   { 49, "DHCID" },	  { 50, "NSEC3" },  { 51, "NSEC3PARAM" },
	{ 52, "TLSA" },	    { 53, "SMIMEA" },	  { 55, "HIP" },    { 59, "CDS" },
	{ 60, "CDNSKEY" },  { 61, "OPENPGPKEY" }, { 62, "CSYNC" },  { 63, "ZONEMD" },
	{ 64, "SVCB" },	    { 65, "HTTPS" },	  { 99, "SPF" },    { 108, "EUI48" },
	{ 109, "EUI64" },   { 249, "TKEY" },	  { 250, "TSIG" },  { 251, "IXFR" },
	{ 252, "AXFR" },    { 253, "MAILB" },	  { 254, "MAILA" }, { 255, "ANY" },
	{ 256, "URI" },	    { 257, "CAA" },	  { 258, "AVC" },   { 260, "AMTRELAY" },
	{ 261, "RESINFO" }, { 32768, "TA" },	  { 32769, "DLV" },
};

static const struct name rcodes[] = {
	{ 0, "NOERROR" },  { 1, "FORMERR" }, { 2, "SERVFAIL" },	 { 3, "NXDOMAIN" },
	{ 4, "NOTIMP" },   { 5, "REFUSED" }, { 6, "YXDOMAIN" },	 { 7, "YXRRSET" },
	{ 8, "NXRRSET" },  { 9, "NOTAUTH" }, { 10, "NOTZONE" },	 { 11, "DSOTYPENI" },
	{ 16, "BADVERS" }, { 17, "BADKEY" }, { 18, "BADTIME" },	 { 19, "BADMODE" },
	{ 20, "BADNAME" }, { 21, "BADALG" }, { 22, "BADTRUNC" }, { 23, "BADCOOKIE" },
};

static int by_number(const void *key, const void *element)
{
	const struct name *n = element;
	uint16_t number = *(const uint16_t *)key;

	return (number > n->number) - (number < n->number);
}

static const char *find(const struct name *table, size_t n, uint16_t number, const char *otherwise,
			char scratch[16])
{
	const struct name *found = bsearch(&number, table, n, sizeof(*table), by_number);

	if (found)
		return found->name;
	snprintf(scratch, 16, "%s%u", otherwise, number);
	return scratch;
}

const char *dns_type_name(uint16_t type, char scratch[16])
{
	return find(types, N_OF(types), type, "TYPE", scratch);
}

const char *dns_rcode_name(uint16_t rcode, char scratch[16])
{
	return find(rcodes, N_OF(rcodes), rcode, "RCODE", scratch);
}
