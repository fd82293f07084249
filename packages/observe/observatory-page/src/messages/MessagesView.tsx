import type { ReactNode } from 'react';
import { useDensity, usePods } from '../api/documents.ts';
import { clockSeconds } from '../format/moment.ts';
import { count, duration } from '../format/quantity.ts';
import { DensityChart } from '../overview/DensityChart.tsx';
import { messagesIn, rangeOf, rangeQuery } from '../overview/density-layout.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { Reading } from '../shell/Reading.tsx';
import { MessageFilters } from './MessageFilters.tsx';
import { MessageList } from './MessageList.tsx';
import { expectedMessages, filterKey, filterOf } from './message-filter.ts';

const buckets = 300;

/** Every message of a recording, by filters and by time. */
export function MessagesView(): ReactNode {
  const route = useRoute();
  const density = useDensity(route.recording, buckets);
  const pods = usePods(route.recording).data ?? [];
  const filter = filterOf(route.query);
  const range = rangeOf(route.query);
  return (
    <div className="story">
      <h1 className="visually-hidden">Messages</h1>
      <MessageFilters filter={filter} pods={pods} density={density.data} />
      <Reading of={density} what="the messages over time">
        {(document) => (
          <>
            <DensityChart
              density={document}
              range={range}
              height={72}
              onRange={(chosen) => goQuery(route, rangeQuery(chosen))}
            />
            <p className="range-line dim">
              {range === undefined
                ? 'Drag over the chart to jump to a time.'
                : `${clockSeconds(range.from)} to ${clockSeconds(range.to)} (${duration(range.to - range.from)}), about ${count(messagesIn(document, range))} messages of all kinds.`}
            </p>
          </>
        )}
      </Reading>
      <MessageList
        key={`${route.recording} ${filterKey(filter)}`}
        filter={filter}
        pods={pods}
        expected={expectedMessages(filter, density.data)}
      />
    </div>
  );
}
