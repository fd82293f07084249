/** Lines of resolv.conf(5) that name a resolver on the machine's IPv4 loopback, such as that of systemd-resolved. */
const ON_LOOPBACK = /^\s*nameserver\s+(127\.\d+\.\d+\.\d+)\s*$/gm;

/** The first resolver on the machine's loopback, which a node in a network namespace of its own cannot reach; undefined without one. */
export function loopbackResolver(resolvConf: string): string | undefined {
  return [...resolvConf.matchAll(ON_LOOPBACK)][0]?.[1];
}

/** The same configuration with one resolver at `address` instead of those on the loopback. */
export function withResolver(resolvConf: string, address: string): string {
  let isFirst = true;
  return resolvConf.replace(ON_LOOPBACK, () => {
    const line = isFirst ? `nameserver ${address}` : '';
    isFirst = false;
    return line;
  });
}
