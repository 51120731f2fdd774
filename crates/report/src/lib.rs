//! Result tables and the HTML report of Joulepath
