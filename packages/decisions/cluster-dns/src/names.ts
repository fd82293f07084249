/** A decimal number up to 255 without leading zeros. */
const OCTET = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${OCTET}(\\.${OCTET}){3}$`);
const GROUP = /^[0-9a-f]{1,4}$/i;
const GROUPS = 8;

/** The eight groups of an IPv6 address; undefined for anything else, an IPv4 address within one included. */
function groupsOf(address: string): readonly string[] | undefined {
  const [head = '', tail, ...more] = address.split('::');
  if (more.length > 0) return undefined;
  const split = (part: string) => (part === '' ? [] : part.split(':'));
  const [before, after] = [split(head), split(tail ?? '')];
  const missing = GROUPS - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  return groups.every((group) => GROUP.test(group)) ? groups : undefined;
}

/** Whether it is an IP address that a record can have. */
export function isAddress(text: string): boolean {
  return IPV4.test(text) || groupsOf(text) !== undefined;
}

/** The name under which an address's name is found: `2.0.88.10.in-addr.arpa`. */
export function reverseName(address: string): string {
  const groups = address.includes(':') ? groupsOf(address) : undefined;
  if (groups === undefined) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`;
  const digits = groups.map((group) => group.padStart(4, '0').toLowerCase()).join('');
  return `${digits.split('').toReversed().join('.')}.ip6.arpa`;
}

/** Labels of up to 63 characters, in lower case. */
const LABEL = /^[a-z0-9_-]{1,63}$/;
const LONGEST = 253;

/** Whether it is a name that a message can carry. Users write some of them, and not all are checked where they are written. */
export function isName(name: string): boolean {
  return name.length <= LONGEST && name.split('.').every((label) => LABEL.test(label));
}
