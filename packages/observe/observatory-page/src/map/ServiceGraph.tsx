import type { MapService, ServiceMap } from '@kubus/contracts/observatory';
import { type ReactNode, useRef, useState } from 'react';
import { count, rate } from '../format/quantity.ts';
import { useSize } from '../theme/canvas.ts';
import { colorOf } from '../theme/services.ts';
import { labelHeight, labelWidth } from './map-labels.ts';
import { type MapLink, layoutMap } from './map-layout.ts';
import { type MapNode, nodeHeight, nodeWidth } from './map-node.ts';
import './map.css';

interface Props {
  readonly map: ServiceMap;
  /** Current messages per second; absent if the recording does not grow. */
  readonly rates: Readonly<Record<string, number>> | undefined;
  readonly chosen: string | undefined;
  readonly onChoose: (service: string | undefined) => void;
}

/** The services and the messages between them. Pointing at one, or choosing it, highlights its edges. */
export function ServiceGraph({ map, rates, chosen, onChoose }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(frame);
  const [pointed, setPointed] = useState<string>();
  const layout = layoutMap(map, width, height, rates === undefined ? messagesOf : rateOf);
  const most = Math.max(1, ...layout.links.map(({ messages }) => messages));
  const marked = pointed ?? chosen;
  const services = new Map(map.services.map((service) => [service.service, service]));
  return (
    <div ref={frame} className="service-graph">
      {width === 0 ? null : (
        <svg width={layout.width} height={layout.height} role="group" aria-label="Map of the services">
          <defs>
            <marker
              id="arrow"
              viewBox="0 0 8 8"
              refX="2"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0,0.5 L7,4 L0,7.5 z" fill="context-stroke" />
            </marker>
          </defs>
          {[...layout.links]
            .sort((a, b) => Number(touches(a, marked)) - Number(touches(b, marked)))
            .map((link) => (
              <Link key={`${link.from} ${link.to}`} link={link} share={link.messages / most} marked={marked} />
            ))}
          {layout.links.map((link) => (
            <LinkLabel key={`${link.from} ${link.to}`} link={link} marked={marked} />
          ))}
          {layout.nodes.map((node) => (
            <Node
              key={node.service}
              node={node}
              service={services.get(node.service)}
              now={rates?.[node.service]}
              dimmed={marked !== undefined && !near(layout.links, node.service, marked)}
              chosen={chosen === node.service}
              onPoint={setPointed}
              onChoose={() => onChoose(chosen === node.service ? undefined : node.service)}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

function touches({ from, to }: MapLink, service: string | undefined): boolean {
  return from === service || to === service;
}

function near(links: readonly MapLink[], service: string, marked: string): boolean {
  return service === marked || links.some((link) => touches(link, marked) && touches(link, service));
}

/** What is written at a line: messages per second just now where the recording grows, or else all that it carried. */
function rateOf({ rate: perSecond }: Pick<MapLink, 'rate'>): string {
  return perSecond === 0 ? '' : `${rate(perSecond)}/s`;
}

function messagesOf({ messages }: Pick<MapLink, 'messages'>): string {
  return messages === 0 ? '' : count(messages);
}

interface LinkProps {
  readonly link: MapLink;
  /** Of the messages of the busiest line. */
  readonly share: number;
  readonly marked: string | undefined;
}

function Link({ link, share, marked }: LinkProps): ReactNode {
  const { from, to, path, rate: perSecond, messages, edges } = link;
  const state = marked === undefined ? '' : touches(link, marked) ? ' link-marked' : ' link-dimmed';
  return (
    <path
      className={`link${state}`}
      d={path}
      stroke={colorOf(from)}
      strokeWidth={1 + 3 * Math.sqrt(share)}
      markerEnd="url(#arrow)"
    >
      <title>{`${from} to ${to}: ${rate(perSecond)} messages/s, ${count(messages)} in all\n${edges.map(({ type }) => type).join('\n')}`}</title>
    </path>
  );
}

function LinkLabel({ link, marked }: Omit<LinkProps, 'share'>): ReactNode {
  const { label, text, from } = link;
  if (label === undefined || (marked !== undefined && !touches(link, marked))) return null;
  const width = labelWidth(text);
  return (
    <g className="link-label" aria-hidden="true" transform={`translate(${label.x.toFixed(1)},${label.y.toFixed(1)})`}>
      <rect x={-width / 2} y={-labelHeight / 2} width={width} height={labelHeight} rx="3" stroke={colorOf(from)} />
      <text y="3.5">{text}</text>
    </g>
  );
}

interface NodeProps {
  readonly node: MapNode;
  readonly service: MapService | undefined;
  readonly now: number | undefined;
  readonly dimmed: boolean;
  readonly chosen: boolean;
  readonly onPoint: (service: string | undefined) => void;
  readonly onChoose: () => void;
}

function Node({ node, service, now, dimmed, chosen, onPoint, onChoose }: NodeProps): ReactNode {
  const instances = service?.instances.length ?? 0;
  const said = `${rate(now ?? service?.rate ?? 0)}/s${instances > 1 ? ` · ${instances} instances` : ''}`;
  return (
    <g
      className={`node${dimmed ? ' node-dimmed' : ''}${chosen ? ' node-chosen' : ''}`}
      transform={`translate(${node.x},${node.y})`}
      role="button"
      tabIndex={0}
      aria-pressed={chosen}
      aria-label={`${node.service} ${said}`}
      onPointerEnter={() => onPoint(node.service)}
      onPointerLeave={() => onPoint(undefined)}
      onClick={onChoose}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        onChoose();
      }}
    >
      <rect className="node-box" width={nodeWidth} height={nodeHeight} rx="5">
        <title>{service?.about ?? ''}</title>
      </rect>
      <rect width="4" height={nodeHeight} rx="2" fill={colorOf(node.service)} />
      <text className="node-name" x="12" y="19">
        {node.service}
      </text>{' '}
      <text className="node-rate" x="12" y="35">
        {said}
      </text>
    </g>
  );
}
