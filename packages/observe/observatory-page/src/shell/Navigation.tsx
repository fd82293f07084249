import type { ReactNode } from 'react';
import { formatRoute } from '../route/route.ts';
import { useRoute } from '../route/use-route.ts';
import { viewList } from './view-list.ts';

/** The list of views, always on the left. */
export function Navigation(): ReactNode {
  const route = useRoute();
  return (
    <nav className="navigation" aria-label="Views">
      {viewList.map(({ view, title, key, about }) => (
        <a
          key={view}
          href={formatRoute({ recording: route.recording, view, query: {} })}
          aria-current={route.view === view ? 'page' : undefined}
          title={about}
        >
          <span>{title}</span>
          <kbd aria-hidden="true">g {key}</kbd>
        </a>
      ))}
    </nav>
  );
}
