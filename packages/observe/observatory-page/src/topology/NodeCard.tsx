import type { TopologyNode } from '@kubus/contracts/observatory';
import { type ReactNode, useId } from 'react';
import type { CpuMark } from './cpu-marks.ts';

interface Props {
  readonly node: TopologyNode;
  readonly markOf: (id: number) => CpuMark;
}

/** A NUMA node: what it has, and its CPUs by cache and core with who has them. */
export function NodeCard({ node, markOf }: Props): ReactNode {
  const title = useId();
  const facts: readonly (readonly [string, string])[] = [
    ['Socket', node.sockets],
    ['Memory', node.memory],
    ['Free', node.free],
    ['Huge pages', node.hugePages],
    ['Distances', node.distances],
  ];
  return (
    <section className="signal-card" aria-labelledby={title}>
      <div className="panel-head">
        <h2 id={title}>NUMA node {node.id}</h2>
        <span>CPUs {node.cpus}</span>
      </div>
      <dl className="node-facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt className="dim">{name}</dt> <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {node.groups.map(({ cache, cores }) => (
        <div key={cache ?? ''} className="cpu-group">
          {cache === undefined ? null : <p className="dim">cache of {cache}</p>}
          <ul className="cpu-cores" aria-label={cache === undefined ? 'CPUs' : `CPUs of the cache ${cache}`}>
            {cores.map((core) => (
              <li key={core[0]} className="cpu-core">
                {core.map((id) => (
                  <Cpu key={id} id={id} mark={markOf(id)} />
                ))}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function Cpu({ id, mark: { kind, mark, color, words } }: { readonly id: number; readonly mark: CpuMark }): ReactNode {
  const style = kind === 'own' ? { borderColor: `var(--service-${color})` } : undefined;
  return (
    <span className={`cpu cpu-${kind}`} style={style} title={`CPU ${id}: ${words}`}>
      <span className="visually-hidden">CPU </span>
      {id} <strong aria-hidden="true">{mark}</strong>
      <span className="visually-hidden">: {words}</span>
    </span>
  );
}
