/** The links to the pages. On a narrow page they are one line that scrolls, and shows the current page and the link with the focus. */
import type { JSX } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import { href, PAGES, type PageName } from "./router.ts"
import * as words from "./words.ts"

const reveal = (link: Element | null | undefined): void => link?.scrollIntoView({ block: "nearest", inline: "nearest" })

export const Navigation = ({ shown }: { readonly shown: PageName }): JSX.Element => {
  const bar = useRef<HTMLElement>(null)
  useLayoutEffect(() => reveal(bar.current?.querySelector("[aria-current]")), [shown])
  return (
    <nav
      ref={bar}
      aria-label="Platform"
      class="tabs"
      onFocusIn={({ target }) => {
        if (target instanceof Element) reveal(target)
      }}
    >
      {PAGES.map((name) => (
        <a key={name} href={href(name)} aria-current={name === shown ? "page" : undefined}>
          {words.titles[name]}
        </a>
      ))}
    </nav>
  )
}
