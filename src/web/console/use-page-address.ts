/** The address of the page as a state of it. */
import { useEffect, useState } from "preact/hooks"
import { type PageAddress, readAddress, writeAddress } from "./page-address.ts"

/** The address of the page, and a function that goes to another one. */
export const usePageAddress = (): readonly [PageAddress, (to: Partial<PageAddress>) => void] => {
  const [address, setAddress] = useState(() => readAddress(location.search))
  useEffect(() => {
    const back = (): void => setAddress(readAddress(location.search))
    addEventListener("popstate", back)
    return () => removeEventListener("popstate", back)
  }, [])
  const go = (to: Partial<PageAddress>): void => {
    const next = { ...readAddress(location.search), ...to }
    const query = writeAddress(next)
    if (query !== location.search) history.pushState(null, "", `${location.pathname}${query}`)
    setAddress(next)
  }
  return [address, go]
}
