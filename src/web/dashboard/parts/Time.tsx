/** A relative time, with the exact time on hover. */
import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import * as words from "../words.ts"

/** This machine's time, updated regularly. */
export const useNow = (everyMillis: number): number => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMillis)
    return () => clearInterval(timer)
  }, [everyMillis])
  return now
}

export const Ago = ({ of }: { readonly of: number }): JSX.Element => {
  const now = useNow(15_000)
  return (
    <time class="phrase" dateTime={new Date(of).toISOString()} title={words.exactly(of)}>
      {words.ago(of, now)}
    </time>
  )
}

/** The day alone. */
export const Day = ({ of }: { readonly of: number }): JSX.Element => (
  <time class="phrase" dateTime={new Date(of).toISOString()} title={words.exactly(of)}>
    {words.day(of)}
  </time>
)

export const At = ({ of }: { readonly of: number }): JSX.Element => (
  <time class="phrase" dateTime={new Date(of).toISOString()} title={words.exactly(of)}>
    {words.at(of)}
  </time>
)
