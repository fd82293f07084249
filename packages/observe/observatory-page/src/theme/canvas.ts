import { type RefObject, useEffect, useState } from 'react';
import { colorIndex } from './services.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Size of an element in CSS pixels, followed as it changes; 0 until it is known. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry === undefined) return;
      const { width, height } = entry.contentRect;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** An empty canvas context in CSS pixels; undefined if the browser has none. */
export function blank(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D | undefined {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context?.scale(ratio, ratio);
  return context ?? undefined;
}

/** The colours of the style sheet, for canvases. */
export interface Palette {
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly faint: string;
  readonly surface: string;
  readonly stripe: string;
  readonly accent: string;
  readonly path: string;
  readonly bad: string;
  readonly selection: string;
  readonly font: string;
  service(name: string): string;
}

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const services = Array.from({ length: 15 }, (_, index) => value(`service-${index}`));
  return {
    text: value('text'),
    dim: value('text-dim'),
    line: value('line'),
    faint: value('line-faint'),
    surface: value('surface'),
    stripe: value('stripe'),
    accent: value('accent'),
    path: value('path'),
    bad: value('bad'),
    selection: value('selection'),
    font: `11px ${value('font')}`,
    service: (name) => services[colorIndex(name)] ?? value('text'),
  };
}
