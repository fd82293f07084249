import type { SegmentStatistics } from '@kubus/contracts/observatory';
import { bin } from 'd3-array';
import { type ReactNode, useMemo } from 'react';
import { duration } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { useSorted } from '../grid/use-sorted.ts';
import { colorOf } from '../theme/services.ts';
import { ServiceName } from '../shell/ServiceName.tsx';

interface Props {
  readonly segments: readonly SegmentStatistics[];
  readonly chosen: string | undefined;
  readonly onChoose: (step: string | undefined) => void;
}

/** Each step of the path over all pods; the histogram shows the chosen one. */
export function SegmentTable({ segments, chosen, onChoose }: Props): ReactNode {
  const columns = useMemo(() => segmentColumns(segments), [segments]);
  const { sorted, sort, setSort } = useSorted(segments, columns, 'sort');
  return (
    <section className="panel" aria-label="Steps">
      <div className="panel-head">
        <h2>Steps of the path</h2>
        <span className="dim">Choose one to see its own histogram.</span>
      </div>
      <DataGrid
        label="Steps of the path"
        columns={columns}
        count={sorted.length}
        rowAt={(index) => sorted[index]}
        keyOf={({ step }) => step}
        selected={chosen}
        sort={sort}
        onSort={setSort}
        onOpen={({ step }) => onChoose(step === chosen ? undefined : step)}
        empty="No pod has taken this path yet. Start one, or choose the other path above."
      />
    </section>
  );
}

function segmentColumns(segments: readonly SegmentStatistics[]): readonly Column<SegmentStatistics>[] {
  const places = new Map(segments.map(({ step }, index) => [step, index + 1]));
  const time = (id: 'p50' | 'p95' | 'max', title: string): Column<SegmentStatistics> => ({
    id,
    title,
    width: '78px',
    align: 'right',
    descendingFirst: true,
    value: (segment) => segment[id],
    cell: (segment) => duration(segment[id]),
  });
  return [
    {
      id: 'place',
      title: '#',
      width: '40px',
      align: 'right',
      value: ({ step }) => places.get(step),
      cell: ({ step }) => <span className="dim">{places.get(step)}</span>,
    },
    {
      id: 'service',
      title: 'Service',
      width: '146px',
      value: ({ service }) => service,
      cell: ({ service }) => <ServiceName service={service} />,
    },
    {
      id: 'step',
      title: 'Step',
      width: 'minmax(170px, 1fr)',
      value: ({ step }) => step,
      cell: ({ step }) => <span title={step}>{step}</span>,
    },
    { id: 'shape', title: 'Spread', width: '104px', cell: (segment) => <Spark segment={segment} /> },
    time('p50', 'Median'),
    time('p95', '95 %'),
    time('max', 'Longest'),
  ];
}

const sparkBars = 24;

/** The shape of a step's histogram, from 0 to its own longest. */
function Spark({ segment }: { readonly segment: SegmentStatistics }): ReactNode {
  const bars = useMemo(() => {
    const width = Math.max(segment.max, 0.001) / sparkBars;
    const thresholds = Array.from({ length: sparkBars - 1 }, (_, index) => (index + 1) * width);
    const known = segment.ms.filter((value) => value !== null);
    return bin()
      .domain([0, width * sparkBars])
      .thresholds(thresholds)(known)
      .map((inside) => inside.length);
  }, [segment]);
  const most = Math.max(1, ...bars);
  return (
    <svg className="spark" width={sparkBars * 4} height="18" aria-hidden="true">
      {bars.map((pods, index) => {
        const height = pods === 0 ? 0 : Math.max(1.5, (pods / most) * 17);
        return (
          <rect key={index} x={index * 4} y={18 - height} width="3" height={height} fill={colorOf(segment.service)} />
        );
      })}
    </svg>
  );
}
