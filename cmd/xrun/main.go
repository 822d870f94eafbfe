// Command xrun runs experiments that are written in CUE.
package main

func main() {}
