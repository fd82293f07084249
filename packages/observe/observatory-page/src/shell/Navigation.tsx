import { type ReactNode, useEffect, useRef } from 'react';
import { walkRows } from '../grid/walk-rows.ts';
import { formatRoute } from '../route/route.ts';
import { useRoute } from '../route/use-route.ts';
import { viewList } from './view-list.ts';

/** The list of views, always on the left. */
export function Navigation(): ReactNode {
  const route = useRoute();
  const current = useRef<HTMLAnchorElement>(null);
  // On a narrow page the list scrolls sideways.
  useEffect(() => {
    current.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [route.view]);
  return (
    <nav className="navigation" aria-label="Views">
      <ul onKeyDown={walkRows}>
        {viewList.map(({ view, title, key, about }) => (
          <li key={view}>
            <a
              href={formatRoute({ recording: route.recording, view, query: {} })}
              ref={route.view === view ? current : undefined}
              aria-current={route.view === view ? 'page' : undefined}
              title={about}
            >
              <span>{title}</span>
              <kbd aria-hidden="true">g {key}</kbd>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
