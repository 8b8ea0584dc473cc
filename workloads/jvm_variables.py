"""The environment variables by which every JVM takes options: none of them may reach one that the suite starts.

A broker would run with flags that no record has; an analysis would not start, or be slow, by settings that were meant
for other programs.
"""

JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
