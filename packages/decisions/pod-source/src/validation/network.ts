import type { PodSpec } from '@kubus/contracts';
import type { FieldErrors, FieldPath } from './field.ts';
import { dnsLabel, dnsSearchDomain, dnsSubdomain, ipAddress } from './names.ts';

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
const MAX_HOSTNAME = 64;

/** Checks the names and the name resolution of a pod. */
export function checkNetwork(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const policies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
  errors.oneOf(path.child('dnsPolicy'), spec.dnsPolicy, policies);
  checkDnsConfig(spec, path.child('dnsConfig'), errors);
  for (const field of ['hostname', 'subdomain'] as const) {
    const name = spec[field] ?? '';
    if (name !== '') errors.each(path.child(field), name, dnsLabel(name));
  }
  checkHostnameOverride(spec, path, errors);
  for (const [i, alias] of (spec.hostAliases ?? []).entries()) {
    const at = path.child('hostAliases').index(i);
    errors.each(at.child('ip'), alias.ip, ipAddress(alias.ip));
    for (const [h, name] of (alias.hostnames ?? []).entries()) {
      errors.each(at.child('hostnames').index(h), name, dnsSubdomain(name));
    }
  }
}

function checkDnsConfig({ dnsPolicy, dnsConfig }: PodSpec, path: FieldPath, errors: FieldErrors): void {
  if (dnsConfig === undefined) {
    if (dnsPolicy === 'None') errors.required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
    return;
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig;
  const at = path.child('nameservers');
  if (dnsPolicy === 'None' && nameservers.length === 0) {
    errors.required(at, 'must provide at least one DNS nameserver when `dnsPolicy` is None');
  }
  if (nameservers.length > MAX_NAMESERVERS) {
    errors.invalid(at, nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`);
  }
  for (const [i, server] of nameservers.entries()) errors.each(at.index(i), server, ipAddress(server));
  if (searches.length > MAX_SEARCHES) {
    errors.invalid(path.child('searches'), searches, `must not have more than ${MAX_SEARCHES} search paths`);
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    errors.invalid(path.child('searches'), searches, detail);
  }
  for (const [i, search] of searches.entries()) {
    if (search !== '.') {
      errors.each(path.child('searches').index(i), search, dnsSearchDomain(search.replace(/\.$/, '')));
    }
  }
  for (const [i, option] of options.entries()) {
    if ((option.name ?? '') === '') errors.required(path.child('options').index(i), 'must not be empty');
  }
}

function checkHostnameOverride(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const name = spec.hostnameOverride;
  if (name === undefined) return;
  const at = path.child('hostnameOverride');
  errors.each(at, name, dnsSubdomain(name));
  if (name.length > MAX_HOSTNAME) errors.tooLong(at, MAX_HOSTNAME);
  if (spec.setHostnameAsFQDN === true) errors.forbidden(at, 'may not be set when `setHostnameAsFQDN` is true');
  if (spec.hostNetwork === true) errors.forbidden(at, 'may not be set when `hostNetwork` is true');
}
