/** The network of pods on a machine whose packet filter others use, too. */
export interface MachineNetwork {
  /** Name of the bridge, and of the CNI network: 15 lower-case letters, digits and `-` at most. It marks the rules. */
  readonly bridge: string;
  /** CIDR of the pods. */
  readonly subnet: string;
}

/** A table as `iptables-save` prints it. */
interface Table {
  readonly name: string;
  readonly chains: readonly string[];
  /** Lines `-A CHAIN ...`. */
  readonly rules: readonly string[];
}

/** Chains that the plugin `portmap` shares between all networks of a machine, and never removes. */
const SHARED = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-SETMARK', 'CNI-HOSTPORT-MASQ'] as const;

/** The chain of one pod, which `portmap` calls from the shared one. */
const POD_CHAIN = /-j (CNI-DN-[0-9a-f]+)$/;

/**
 * What `iptables-restore --noflush` makes of the packet filter so that pods reach what the machine reaches, under its addresses: the rules of
 * the network, in place of those that it has already. Packets of pods for the loopback are dropped: `portmap` makes the kernel accept them
 * (CVE-2020-8558).
 *
 * @param saved what `iptables-save` prints
 */
export function rulesToAdd({ bridge, subnet }: MachineNetwork, saved: string): string {
  const mark = `-m comment --comment ${bridge}`;
  const state = '-m conntrack --ctstate RELATED,ESTABLISHED,DNAT';
  const added: Readonly<Record<string, readonly string[]>> = {
    filter: [
      `-I FORWARD -o ${bridge} ${state} ${mark} -j ACCEPT`,
      `-I FORWARD -i ${bridge} ${mark} -j ACCEPT`,
      `-I INPUT -d 127.0.0.0/8 -i ${bridge} ${state.replace('--ctstate', '! --ctstate')} ${mark} -j DROP`,
    ],
    nat: [`-A POSTROUTING -s ${subnet} ! -o ${bridge} ${mark} -j MASQUERADE`],
  };
  const tables = readTables(saved);
  const changes = Object.entries(added).map(([name, lines]) => {
    const rules = tables.find((table) => table.name === name)?.rules ?? [];
    return { name, lines: [...rules.filter((rule) => isMarked(rule, bridge)).map(removed), ...lines] };
  });
  return restoreText(changes);
}

/**
 * What `iptables-restore --noflush` makes of the packet filter to take back the rules of the network, and those that `portmap` has left of its
 * pods; empty when there are none. The chains that networks share go with the last rule in them.
 *
 * @param hadShared whether the machine had the shared chains before the network; then they stay
 */
export function rulesToRemove(bridge: string, saved: string, hadShared: boolean): string {
  const changes = readTables(saved).map(({ name, chains, rules }) => {
    const own = rules.filter((rule) => isMarked(rule, bridge) || isMapped(rule, bridge));
    const podChains = own.flatMap((rule) => POD_CHAIN.exec(rule)?.[1] ?? []).filter((chain) => chains.includes(chain));
    const shared = SHARED.filter((chain) => chains.includes(chain));
    const others = rules.filter((rule) => rule.startsWith('-A CNI-HOSTPORT-DNAT ') && !own.includes(rule));
    const unused = hadShared || others.length > 0 ? [] : shared;
    // Rule by rule: a chain that has got another one meanwhile cannot be removed.
    const theirs = rules.filter(
      (rule) => !own.includes(rule) && unused.some((chain) => isCallOf(rule, chain) || rule.startsWith(`-A ${chain} `)),
    );
    return {
      name,
      lines: [
        ...own.map(removed),
        ...podChains.map((chain) => `-F ${chain}`),
        ...theirs.map(removed),
        ...[...podChains, ...unused].map((chain) => `-X ${chain}`),
      ],
    };
  });
  return restoreText(changes);
}

/** Whether a network of the machine has made the chains that `portmap` shares. */
export function hasSharedChains(saved: string): boolean {
  return readTables(saved).some(({ chains }) => SHARED.some((chain) => chains.includes(chain)));
}

/** The rules with which programs of the machine forward packets: those of the table nat, and of the chain FORWARD. */
export function forwardingRules(saved: string): string[] {
  return readTables(saved).flatMap(({ name, rules }) =>
    rules.filter((rule) => name === 'nat' || (name === 'filter' && rule.startsWith('-A FORWARD '))),
  );
}

/** The networks of nodes that have rules, by the names of their bridges. */
export function markedBridges(saved: string): string[] {
  const marks = readTables(saved).flatMap(({ rules }) => rules.flatMap((rule) => MARK.exec(rule)?.[1] ?? []));
  return [...new Set(marks)].sort();
}

const MARK = / --comment (kubus-[a-z0-9-]{1,9}) -j /;

function isMarked(rule: string, bridge: string): boolean {
  return MARK.exec(rule)?.[1] === bridge;
}

/** Whether the rule calls the chain of a pod of the network; `portmap` writes the network's name into its comment. */
function isMapped(rule: string, network: string): boolean {
  return rule.startsWith('-A CNI-HOSTPORT-DNAT ') && rule.includes(`"dnat name: \\"${network}\\" id: `);
}

/** Calls from chains of pods go with these. */
function isCallOf(rule: string, chain: string): boolean {
  return /^-A (PREROUTING|OUTPUT|POSTROUTING) /.test(rule) && rule.endsWith(` -j ${chain}`);
}

function removed(rule: string): string {
  return rule.replace(/^-A/, '-D');
}

function restoreText(tables: readonly { readonly name: string; readonly lines: readonly string[] }[]): string {
  const changed = tables.filter(({ lines }) => lines.length > 0);
  return changed.map(({ name, lines }) => [`*${name}`, ...lines, 'COMMIT', ''].join('\n')).join('');
}

function readTables(saved: string): Table[] {
  return [...saved.matchAll(/^\*(\S+)\n([\s\S]*?)^COMMIT$/gm)].map(([, name = '', body = '']) => {
    const lines = body.split('\n');
    return {
      name,
      chains: lines.flatMap((line) => /^:(\S+)/.exec(line)?.[1] ?? []),
      rules: lines.filter((line) => line.startsWith('-A ')),
    };
  });
}
